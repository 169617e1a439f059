"""Volumes of several inputs of a network, read as one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from znni.box import Box, text_of
from znni.errors import InvalidError
from znni.scaling import Scaling
from znni.stores.seam import Source


class JoinedSource(Source):
    """Reads volumes side by side: their channels follow each other, in the order of ``parts`` until ``arrange`` says
    another. Volumes of several types are read as float32, which holds all that are sent. Raises InvalidError, naming
    the input, if there is none, or if they differ in extent. Closes them."""

    name = "volume"

    def __init__(self, parts: Mapping[str, Source]) -> None:
        self._parts = dict(parts)
        if not self._parts:
            raise InvalidError("volume: no input found, expected a volume for each input of the model")
        first, *others = self._parts
        each = self._parts.values()
        types = {part.dtype for part in each}
        self.dtype = types.pop() if len(types) == 1 else np.dtype("<f4")
        self.shape = (sum(part.shape[0] for part in each), *self._parts[first].shape[1:])
        self.ndim = max(part.ndim for part in each)
        self.depth = max(part.depth for part in each)
        self.geometry = next((part.geometry for part in each if part.geometry), None)
        self.zarr_format = next((part.zarr_format for part in each if part.zarr_format), None)
        for name in others:
            self._check_alike(first, name)

    def _check_alike(self, first: str, name: str) -> None:
        part = self._parts[name]
        if part.shape[1:] != self.shape[1:]:
            raise InvalidError(
                f"volume, input '{name}': {text_of(part.shape[1:])} voxels found, expected "
                f"{text_of(self.shape[1:])} as input '{first}' has"
            )

    def arrange(self, inputs: Mapping[str, slice], model: str) -> None:
        """Brings the volumes into the order of the model's inputs, of which each has a slice of channels. Raises
        InvalidError for one that is missing, unknown or of other channels."""
        for name, channels in inputs.items():
            if name not in self._parts:
                raise InvalidError(f"volume: input '{name}' is missing, which model '{model}' has")
            found, expected = self._parts[name].shape[0], channels.stop - channels.start
            if found != expected:
                raise InvalidError(
                    f"volume, input '{name}': {found} channels found, expected the {expected} that "
                    f"model '{model}' takes"
                )
        for name in self._parts:
            if name not in inputs:
                known = ", ".join(f"'{known}'" for known in inputs)
                raise InvalidError(f"volume: input '{name}' found, expected {known}, which model '{model}' has")
        self._parts = {name: self._parts[name] for name in inputs}

    def rescale(self, scaling: Scaling) -> None:
        for part in self._parts.values():
            part.rescale(scaling)
        self.dtype = np.dtype("<f4")
        self.scaling = scaling

    def read(self, box: Box) -> np.ndarray:
        return np.concatenate([part.read(box) for part in self._parts.values()], dtype=self.dtype)

    def close(self) -> None:
        for part in self._parts.values():
            part.close()
