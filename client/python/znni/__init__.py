"""Dense outputs of 3D ConvNets over volumes of any size, computed by znnid.

``Client`` streams volumes through the models of a running daemon. ``predict`` starts one for a single network, and
``compile`` one for a module of PyTorch, which is then called as before. ``check`` says whether a network runs,
``make_valid`` what becomes of it without its padding, ``plan`` how it would be computed. Axes are z, y, x everywhere,
extents are in voxels.

``dask``, ``monai`` and ``torch`` are modules for these packages, which are imported when one of them is first named.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.2.0"

from znni.calls.async_client import AsyncClient
from znni.client import Client
from znni.errors import (
    AccessError,
    Error,
    InvalidError,
    NotFoundError,
    OverBudgetError,
    ReplacedError,
    UnavailableError,
    UnsupportedError,
)
from znni.local.one_shot import predict
from znni.local.planner import Check, Plan, ValidForm, check, make_valid, plan
from znni.model import Model
from znni.pytorch.compiled import Compiled, compile  # noqa: F401
from znni.stores.formats.sharded import Sharded

if TYPE_CHECKING:
    from znni import dask as dask
    from znni import monai as monai
    from znni import torch as torch
else:  # type checkers would take any name for one that is there

    def __getattr__(name):
        """Returns a module that needs a package which is not installed with this one."""
        if name in ("dask", "monai", "torch"):
            return importlib.import_module(f"znni.{name}")
        raise AttributeError(f"module 'znni' has no attribute '{name}'")


__all__ = [
    "AccessError",
    "AsyncClient",
    "Check",
    "Client",
    "Compiled",
    "Error",
    "InvalidError",
    "Model",
    "NotFoundError",
    "OverBudgetError",
    "Plan",
    "ReplacedError",
    "Sharded",
    "UnavailableError",
    "UnsupportedError",
    "ValidForm",
    "check",
    "make_valid",
    "plan",
    "predict",
]  # without "compile": "from znni import *" leaves that of Python
