"""Batches of volumes, [N, C, Z, Y, X], through a model, with an array for each of its outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from znni.box import text_of
from znni.client import Client
from znni.errors import InvalidError
from znni.model import Model


def predict_batch(client: Client, model: Model, batch: np.ndarray, pad: str, own: bool) -> list[np.ndarray]:
    """Returns the outputs of ``model``, each [N, C, Z, Y, X], in its order. The volumes are computed one after the
    other.

    If ``own`` is set, an output that is coarser than the input has only the voxels that the network itself computes,
    else it repeats them. Raises a subclass of Error for what the daemon or the client refuses. Raises InvalidError,
    before anything is sent, where ``own`` is set and windows would be blended of a model with such an output.
    """
    one = model.output_shape((1, *batch.shape[1:]), pad)
    is_own = {name: own and stride != (1, 1, 1) for name, stride in model.output_strides.items()}
    if any(is_own.values()):
        model = _of_one_window(model, batch.shape[2:], pad)
    whole = np.empty((len(batch), *one[1:]), np.float32)
    for i in range(len(batch)):
        client.predict(model.name, batch[i : i + 1], whole[i : i + 1], pad=pad, version=model.version, progress=False)
    return [np.ascontiguousarray(model.part(whole, name, is_own[name])) for name in model.outputs]


def _of_one_window(model: Model, extent: Sequence[int], pad: str) -> Model:
    """Returns a model whose outputs have voxels of their own, for volumes of this extent. Raises InvalidError unless
    they are one window, padding included: one window alone is not blended."""
    if model.window is None:
        return model
    taken = tuple(n - (0 if pad == "none" else f - 1) for n, f in zip(model.window, model.field_of_view))
    if tuple(extent) != taken:
        padded = "" if pad == "none" else f" with pad='{pad}'"
        raise InvalidError(
            f"inputs: {text_of(extent)} voxels found, expected {text_of(taken)}{padded}: model "
            f"'{model.name}' blends windows for others, and its outputs that are coarser than the input "
            "have no voxels there; pass volumes of the window's extents, or compile with dense=True"
        )
    return dataclasses.replace(model, window=None)
