"""Dense outputs of 3D ConvNets over volumes of any size, computed by znnid.

``Client`` streams volumes through the models of a running daemon; ``predict`` starts one for a single network. Axes are
z, y, x everywhere, extents are in voxels.
"""

__version__ = "0.1.0"

from znni.client import Client
from znni.errors import (AccessError, Error, InvalidError, NotFoundError, OverBudgetError, ReplacedError,
                         UnavailableError, UnsupportedError)
from znni.model import Model
from znni.one_shot import predict

__all__ = ["AccessError", "Client", "Error", "InvalidError", "Model", "NotFoundError", "OverBudgetError",
           "ReplacedError", "UnavailableError", "UnsupportedError", "predict"]
