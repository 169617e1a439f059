"""A volume through a network without a daemon that runs already."""

from __future__ import annotations

import math
import os
from typing import Any

from znni.box import Roi, parse_roi
from znni.channels import Channels
from znni.client import Client
from znni.errors import Error
from znni.local.private_daemon import PrivateDaemon
from znni.local.repository import Config
from znni.mask import open_mask
from znni.mirrors import mirror_axes
from znni.padding import check_pad
from znni.progress import Wanted
from znni.scaling import Scale, parse_scaling
from znni.stores.opening import check_output, open_source
from znni.stores.overlap import check_output_apart
from znni.voxel_type import output_type

_PLANNED_VOXELS = 2_000_000  # volumes of fewer are not worth the seconds that a plan for just them takes to make


def predict(
    network: str | os.PathLike,
    volume: Any,
    output: Any = None,
    *,
    mem: str | int | None = None,
    threads: int | None = None,
    config: Config = None,
    roi: Roi = None,
    pad: str = "none",
    dtype: Any = "float32",
    scale: Scale = None,
    mask: Any = None,
    channels: Channels = None,
    tta: str | None = None,
    overwrite: bool = False,
    resume: bool = True,
    progress: Wanted = True,
) -> Any:
    """Computes the dense output of ``network``, a file of ONNX or Caffe, for ``volume`` and returns it, or
    ``output`` if given.

    Starts a znnid for it, which plans the network first: the program that the environment's ZNNID names, that in this
    package, or that on the PATH. It keeps the plan, so that the next call with the same network and memory begins at
    once. For more than two million voxels it plans for a volume of just this extent. It is stopped at the end, also by
    Ctrl-C.

    ``mem``
        The memory that the daemon may take, "8G" or bytes; None is 0.8 of what is available.
    ``threads``
        That compute; None is all processors.
    ``config``
        A config.pbtxt, or parameters of one: {"input_scale": 1 / 255}. None is the network's own, if it lies in a
        model repository as MODEL/VERSION/model.onnx or model.prototxt.

    All others are those of ``Client.predict``; ``resume`` matters little, as a daemon of one's own that breaks off has
    ended.
    """
    check_pad(pad)
    output_type(dtype)
    parse_scaling(scale)
    mirror_axes(tta)
    check_output(output, overwrite)
    check_output_apart(output, volume, overwrite)
    check_output_apart(output, mask, overwrite, "mask")
    with open_source(volume) as source:  # what is wrong is said before the network is planned
        extent = parse_roi(roi, source.shape[1:]).extent
        with open_mask(mask, source.shape[1:]):
            pass
    with PrivateDaemon(
        network,
        mem=mem,
        threads=threads,
        config=config,
        volume=extent if math.prod(extent) >= _PLANNED_VOXELS else None,
        is_padded=pad != "none",
        progress=progress,
    ) as daemon:
        with Client(daemon.address, retry_seconds=0) as client:
            try:
                return client.predict(
                    daemon.model,
                    volume,
                    output,
                    roi=roi,
                    pad=pad,
                    dtype=dtype,
                    scale=scale,
                    mask=mask,
                    channels=channels,
                    tta=tta,
                    overwrite=overwrite,
                    resume=resume,
                    progress=progress,
                )
            except Error as error:
                raise daemon.explained(error) from None
