"""Facts about a served model."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from znni import axes
from znni.box import Triple, text_of
from znni.errors import InvalidError
from znni.padding import check_pad


@dataclasses.dataclass(frozen=True)
class Model:
    """Describes a model. Extents are in voxels, along z, y and x.

    ``pads`` is true for a network that itself pads with zeros at the border of what it is given, or has strides of its
    own. An output voxel then depends on ``padding`` more voxels before and behind its field of view, and volumes have
    ``min_extent`` voxels and multiples of ``period`` more.
    ``window`` is what the network is bound to, if it normalises over all voxels, pools them or aligns corners, else
    None: the output of a volume of another extent is a blend of windows that overlap by the share ``window_overlap``.
    ``output_stride`` is how many equal voxels the output has along each axis for one that the network computes, of
    several outputs each one; (1, 1, 1) where they differ in it. ``output_strides`` are those of each output.
    ``inputs`` are the channels of each input, which follow each other. ``outputs`` are those of each output, likewise;
    ``part`` cuts them out.
    """

    name: str
    version: str
    ready: bool
    channels: int
    output_channels: int
    field_of_view: Triple
    pads: bool
    properties: Mapping[str, str]
    window: Triple | None = None
    window_overlap: float = 0.0
    outputs: Mapping[str, slice] = dataclasses.field(default_factory=dict)
    output_stride: Triple = (1, 1, 1)
    inputs: Mapping[str, slice] = dataclasses.field(default_factory=dict)
    padding: tuple[Triple, Triple] = ((0, 0, 0), (0, 0, 0))
    period: Triple = (1, 1, 1)
    min_extent: Triple = (1, 1, 1)
    output_strides: Mapping[str, Triple] = dataclasses.field(default_factory=dict)

    @property
    def least_extent(self) -> Triple:
        """Returns ``min_extent``, by the name that it had before version 0.3."""
        return self.min_extent

    @property
    def needs_whole(self) -> bool:
        """Returns whether the model takes mean and deviation of all of a volume before it begins."""
        return self.properties.get("input_zscore") == "volume"

    @property
    def has_labels(self) -> bool:
        """Returns whether an output has numbers of channels, those of ArgMax, of which a mean has no meaning."""
        return "largest_channel_number" in self.properties

    @property
    def halo(self) -> tuple[Triple, Triple]:
        """Returns the voxels before and behind an output voxel that it depends on, along z, y and x.

        Without padding, output voxel ``i`` belongs to input voxel ``i + before``.
        """
        before = tuple((n - 1) // 2 for n in self.field_of_view)
        return before, tuple(n - 1 - b for n, b in zip(self.field_of_view, before))  # type: ignore[return-value]

    def output_shape(self, shape: Sequence[int], pad: str = "none") -> tuple:
        """Returns the shape of the output for a volume of this shape, with the axes that ``predict`` gives it.

        Raises InvalidError for a volume that the model does not take.
        """
        check_pad(pad)
        volume = axes.czyx(shape, "volume")
        self.check_channels(volume[0], "volume")
        grown = tuple(a + b - 1 for a, b in zip(volume[1:], self.field_of_view))
        n = self.shrunk(volume[1:] if pad == "none" else grown, "volume")
        return axes.output_shape((self.output_channels, *n), len(shape))

    def part(self, found: Any, name: str, own: bool = False) -> Any:
        """Returns the channels of the output ``name`` of what ``predict`` returned for all outputs.

        An output that is coarser than the input repeats each voxel; if ``own`` is set, only the voxels that the network
        itself computes are returned, each once. Then ``found`` must begin at the output's first voxel, or multiples of
        ``output_strides[name]`` behind it. Raises InvalidError if the model has no output of this name, or if it is
        bound to its window, of which blends have no voxels of their own.
        """
        if name not in self.outputs:
            known = ", ".join(f"'{output}'" for output in self.outputs)
            raise InvalidError(f"output: '{name}' found, expected one of {known}, which model '{self.name}' has")
        if own and self.window is not None:
            raise InvalidError(
                f"own: True found, but model '{self.name}' blends windows: its outputs have no voxels of their own"
            )
        if own:
            found = found[(..., *(slice(None, None, stride) for stride in self.output_strides[name]))]
        channel_axis = found.ndim - 4
        return found if channel_axis < 0 else found[(slice(None),) * channel_axis + (self.outputs[name],)]

    def check_channels(self, channels: int, name: str) -> None:
        """Raises InvalidError unless the model takes this many channels."""
        if channels != self.channels:
            raise InvalidError(
                f"{name}: {channels} channels found, expected the {self.channels} that model '{self.name}' takes"
            )

    def region(self, extent: Sequence[int], name: str) -> Triple:
        """Returns the extent of the output of a region of a volume. Raises InvalidError if that is less than the field
        of view: a region may be less than the window."""
        return dataclasses.replace(self, window=None).shrunk(extent, name)

    def shrunk(self, extent: Sequence[int], name: str) -> Triple:
        """Returns the extent of the output of so much input. Raises InvalidError if that is less than the field of
        view, or than the window along an axis along which voxels are lost."""
        if any(a < b for a, b in zip(extent, self.least_input)):
            what = "field of view" if self.window is None else "window along an axis,"
            would_do = all(a + b - 1 >= c for a, b, c in zip(extent, self.field_of_view, self.least_input))
            advice = "; try pad='reflect'" if would_do else ""
            raise InvalidError(
                f"{name}: {text_of(extent)} voxels found, expected at least the {what} "
                f"{text_of(self.least_input)} of model '{self.name}'{advice}"
            )
        return tuple(a - b + 1 for a, b in zip(extent, self.field_of_view))  # type: ignore[return-value]

    @property
    def least_input(self) -> Triple:
        """Returns the smallest extent: the window along axes along which voxels are lost, if there is one."""
        window = self.window or (1, 1, 1)
        least = (max(a, b) if a > 1 else 1 for a, b in zip(self.field_of_view, window))
        return tuple(least)  # type: ignore[return-value]


def _triple(text: str, missing: int = 1) -> Triple:
    """Returns the extent of "z,y,x"; of networks with fewer axes, "y,x" or "x", the missing ones are 1."""
    found = [int(n) for n in re.findall(r"\d+", text)][:3]
    return (*(missing,) * (3 - len(found)), *found)  # type: ignore[return-value]


def _channels(tensors: Sequence[Any]) -> int:
    return sum(max(int(tensor.shape[1]), 1) if len(tensor.shape) > 1 else 1 for tensor in tensors) or 1


def _slices(tensors: Sequence[Any]) -> dict[str, slice]:
    ends = [_channels(tensors[: i + 1]) for i in range(len(tensors))]
    return {tensor.name: slice(end - _channels([tensor]), end) for tensor, end in zip(tensors, ends)}


def _strides(tensors: Sequence[Any], properties: Mapping[str, str]) -> dict[str, Triple]:
    """Returns the stride of each output: "z,y,x;z,y,x" where they differ, else "z,y,x"."""
    one = properties.get("output_stride", "1,1,1")
    texts = properties["output_strides"].split(";") if "output_strides" in properties else [one] * len(tensors)
    return {tensor.name: _triple(text) for tensor, text in zip(tensors, texts)}


def model_of(metadata: Any, ready: bool, version: str) -> Model:
    """Returns the facts in a daemon's answer; ``version`` is the one that was asked for, "" for the newest."""
    properties = dict(metadata.properties)
    return Model(
        name=metadata.name,
        version=version or (metadata.versions[-1] if metadata.versions else ""),
        ready=ready,
        channels=_channels(metadata.inputs),
        output_channels=_channels(metadata.outputs),
        field_of_view=_triple(properties.get("field_of_view", "1,1,1")),
        pads=bool({"padding_before", "input_period"} & properties.keys()),
        properties=properties,
        window=_triple(properties["window"]) if "window" in properties else None,
        window_overlap=float(properties.get("window_overlap", 0)),
        outputs=_slices(metadata.outputs),
        inputs=_slices(metadata.inputs),
        output_stride=_triple(properties.get("output_stride", "1,1,1")),
        padding=(_triple(properties.get("padding_before", ""), 0), _triple(properties.get("padding_after", ""), 0)),
        period=_triple(properties.get("input_period", "")),
        min_extent=_triple(properties.get("least_input", "")),
        output_strides=_strides(metadata.outputs, properties),
    )
