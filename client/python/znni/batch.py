"""Batches of volumes, [N, C, Z, Y, X], through a model, with an array for each of its outputs."""

from __future__ import annotations

import dataclasses

import numpy as np

from znni.client import Client
from znni.model import Model


def predict_batch(client: Client, model: Model, batch: np.ndarray, pad: str, own: bool) -> list[np.ndarray]:
    """Returns the outputs of ``model``, each [N, C, Z, Y, X], in its order. The volumes are computed one after the
    other.

    If ``own`` is set, an output that is coarser than the input has only the voxels that the network itself computes,
    else it repeats them. Raises a subclass of Error for what the daemon or the client refuses.
    """
    one = model.output_shape((1, *batch.shape[1:]), pad)
    whole = np.empty((len(batch), *one[1:]), np.float32)
    for i in range(len(batch)):
        client.predict(model.name, batch[i:i + 1], whole[i:i + 1], pad=pad, version=model.version, progress=False)
    if model.window == batch.shape[2:]:
        model = dataclasses.replace(model, window=None)  # one window alone is not blended
    return [_part(whole, name, model, own) for name in model.outputs]


def _part(whole: np.ndarray, name: str, model: Model, own: bool) -> np.ndarray:
    """Returns one output. Where it leaves voxels out it is a copy, so that these need no memory."""
    if not own or model.output_strides[name] == (1, 1, 1):
        return model.part(whole, name)
    return np.ascontiguousarray(model.part(whole, name, own=True))
