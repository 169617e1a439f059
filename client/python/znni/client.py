"""The client: volumes of any size through the models of one znnid."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from znni import __version__
from znni.box import Roi
from znni.calls.credentials import read_credentials
from znni.calls.patience import Patience
from znni.calls.route import Route
from znni.calls.servers import Servers, addresses_of
from znni.channels import Channels, chosen_channels
from znni.errors import InvalidError
from znni.job import Job, plan_job
from znni.mask import Mask, open_mask
from znni.mirrors import mirror_axes, names_of
from znni.model import Model
from znni.progress import Wanted, open_progress
from znni.scaling import SLICE_ZSCORE, Scale, is_by_slice, parse_scaling
from znni.stores.joined import JoinedSource
from znni.stores.opening import open_source, open_target
from znni.stores.overlap import check_output_apart
from znni.stores.seam import OutputFacts, Target
from znni.stores.slice_zscore import SliceZscoreSource
from znni.streaming.run import Run
from znni.targets.masked import MaskedTarget
from znni.targets.mean import MeanTarget


class Client:
    """Streams volumes through the models of the znnid at ``address``, "HOST:PORT", or of several: a list of addresses.

    Of several, each call, in whatever thread, goes to the one that has the fewest calls of this client under way, and
    on to the next if that does not answer. An output is computed by servers of the same model alone: where one breaks
    off, another goes on if it has the same weights, configuration and plan.

    ``tls_root_cert`` is a PEM file of who signed the daemon's certificate and turns TLS on; ``tls_cert`` and
    ``tls_key`` are our own, for mutual TLS. ``token`` is what the daemon asks for. A call that finds no
    daemon, or a model that is still loading, is tried again for ``retry_seconds``, at growing intervals.

    As a context it closes its connection at the end::

        with znni.Client("127.0.0.1:8001") as client:
            probability = client.predict("net", volume, pad="reflect")
    """

    def __init__(
        self,
        address: str | Sequence[str],
        *,
        token: str = "",
        tls_root_cert: str | os.PathLike | None = None,
        tls_cert: str | os.PathLike | None = None,
        tls_key: str | os.PathLike | None = None,
        retry_seconds: float = 30,
    ) -> None:
        credentials = read_credentials(tls_root_cert, tls_cert, tls_key)
        self._servers = Servers(addresses_of(address), credentials, token)
        self._retry_seconds = retry_seconds

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        self._servers.close()

    def models(self) -> dict[str, str]:
        """Returns the daemon's models, each with "ready" or its state and the reason for it."""
        with self._route() as route:
            return route.ask(lambda daemon: daemon.models())

    def model(self, name: str, version: str = "") -> Model:
        """Returns what is known about a model: channels, field of view and halo in voxels along z, y and x, and the
        shape of the output for a volume. Version "" is the newest. Raises NotFoundError if there is none."""
        with self._route() as route:
            return route.ask(lambda daemon: daemon.model(name, version))

    def outlook(self, header: Any) -> Any:
        """Returns the daemon's VolumeOutlook, predicted seconds among it, for a stream with this header of a Job."""
        with self._route() as route:
            return route.ask(lambda daemon: daemon.outlook(header))

    def predict(
        self,
        model: str,
        volume: Any,
        output: Any = None,
        *,
        roi: Roi = None,
        pad: str = "none",
        dtype: Any = "float32",
        scale: Scale = None,
        mask: Any = None,
        channels: Channels = None,
        tta: str | None = None,
        version: str = "",
        overwrite: bool = False,
        resume: bool = True,
        progress: Wanted = True,
    ) -> Any:
        """Computes the dense output of ``model`` for ``volume`` and returns it, or ``output`` if one is given.

        ``volume``
            ``[Z, Y, X]``, ``[C, Z, Y, X]`` or ``[1, C, Z, Y, X]``, of any type of whole or real numbers: a NumPy array
            or memmap, a dataset of h5py, an array of zarr or dask, anything with ``shape``, ``dtype`` and slicing; or a
            path: ``FILE.npy``, ``FILE.h5:/dataset``, ``FILE.tif``, ``FILE.nii.gz``, ``FILE.nrrd``,
            ``FOLDER.zarr[/array]``, ``FOLDER.n5/dataset`` or ``precomputed://FOLDER``, also at ``https://`` and
            ``s3://``. Slabs of planes are read as the daemon takes them. Types other than uint8,
            uint16, float16 and float32 are sent as float32: float64 is rounded, a whole number beyond 2^24 is refused.
            For a model with several inputs a dictionary has a volume for each, {"raw": raw, "mask": mask}, all of one
            extent; or one volume has the channels of all, in the model's order.
        ``output``
            None: the returned array. Else an array of the output's shape and ``dtype``, or a path as above, into which
            slabs are written as they come. Its axes are those of the volume, but ``[C, Z, Y, X]`` where a volume
            ``[Z, Y, X]`` gives several channels. A path is called ``PATH.partial`` until it is complete.
        ``roi``
            The box of the volume to compute, stop exclusive: "z0:z1,y0:y1,x0:x1", ``np.s_[z0:z1, y0:y1, x0:x1]`` or
            three pairs. For a model that itself pads, has strides or is bound to its window, more of the volume is
            read, so that the output is that of the whole volume.
        ``pad``
            "none": the output has field of view - 1 voxels less per axis, and its voxel ``i`` belongs to input voxel
            ``i + (field of view - 1) // 2``. "zero", "reflect", "edge": as large as the volume or ``roi``; real voxels
            around the ``roi`` are read, and what lies beyond the volume's border is zero, mirrored without doubling
            the border's voxel, or the border's voxel.
        ``dtype``
            Of the output: float32, float16, or uint8, which is 0..1 mapped to 0..255, as ``value_scale``, 1/255, among
            the attributes of a file says.
        ``scale``
            A factor, or (factor, offset): the model is given ``voxel * factor + offset`` in place of what its own scale
            or z-score makes of the voxels. Both are rounded to float32, as is the sum, once, of all types of voxels.
            All inputs are scaled alike, and so is their padding. "slice_zscore": each slice along z, of each channel,
            is brought to mean 0 and deviation 1, as 2D networks are often trained: ``(voxel - mean) / max(deviation,
            1e-8)`` of the whole slice, also with ``roi``. None: the model's own, which the daemon applies.
        ``mask``
            An array or a path, ``[Z, Y, X]`` of numbers or truth values, as large as the volume, or coarser by a whole
            factor along each axis: mask voxel ``i`` then stands for volume voxels from ``i * factor`` on. The output is
            0, in all channels, where the mask is 0 at the voxel's place in the volume. All voxels are computed; jobs
            (``znni-job plan --mask``) skip blocks.
        ``channels``
            Of the model's output those to keep, in their order: numbers from 0 on, names of outputs, which stand for
            all of their channels, or both, ``[2, "mask"]`` or "2,mask". None: all. The daemon computes and sends all;
            only these are gathered and written.
        ``tta``
            "mirror", which is "zyx", or some of the axes, "yx": the output is a mean over mirrored volumes. With ``v``
            the volume with its padding, of which (field of view - 1) // 2 voxels lie before it, and ``f`` the model
            without padding, it is the mean of ``flip(f(flip(v, S)), S)`` over all subsets S of the k axes: 2^k passes.
            So each pass computes an output voxel from the same voxels of the volume, also where the field of view is
            even; with ``roi`` the output is the same, cut. The sum of the passes is float32: the mean is off by at most
            (2^k - 1) * 2^-24 times the mean of their absolute values. Beyond 48 MiB it lies in a file without a name,
            beside the output or in ``TMPDIR``.
        ``overwrite``
            Whether a path of ``output`` that exists is replaced.
        ``resume``
            Whether a stream that breaks goes on with its first missing plane, where the model allows it.
        ``progress``
            Whether to show it on standard error; or a function that is called with (voxels done, voxels in all).

        Raises a subclass of Error for what the daemon or the client refuses, and what reading and writing raise.
        """
        scaling, averaged = parse_scaling(scale), mirror_axes(tta)
        with contextlib.ExitStack() as opened:
            source = opened.enter_context(open_source(volume))
            if scaling:
                source.rescale(scaling)
            inside = opened.enter_context(open_mask(mask, source.shape[1:]))
            route = opened.enter_context(self._route())
            facts = route.ask(lambda daemon: daemon.model(model, version))
            route.bind(facts)
            if isinstance(source, JoinedSource):
                source.arrange(facts.inputs, facts.name)
            if is_by_slice(scale):
                source = SliceZscoreSource(source)
            job = dataclasses.replace(
                plan_job(facts, source, roi, pad, dtype),
                channels=chosen_channels(channels, facts),
                masked_by=_name_of(mask),
                averaged=averaged,
            )
            jobs = job.passes()
            _check_output(output, volume, mask, overwrite)
            target = _wrapped(open_target(output, facts_of(job), overwrite), inside, job, route.patience)
            shown = open_progress(progress, model, float(sum(math.prod(each.streamed) for each in jobs)))
            try:
                Run(route, jobs, target, shown, resume).run()
                target.finish()
                return target.array if output is None else output
            except BaseException:
                target.discard()
                raise
            finally:
                shown.close()

    def _route(self) -> Route:
        return Route(self._servers, lambda: Patience(self._retry_seconds))


def _name_of(mask: Any) -> str:
    """Returns how notes name a mask: by its path, if it has one."""
    if mask is None:
        return ""
    return os.fspath(mask) if isinstance(mask, (str, os.PathLike)) else "array"


def _is_same(output: Any, volume: Any) -> bool:
    arrays = isinstance(output, np.ndarray) and isinstance(volume, np.ndarray)
    return output is volume or arrays and np.may_share_memory(output, volume)


def _check_output(output: Any, volume: Any, mask: Any, overwrite: bool) -> None:
    """Raises InvalidError for an output that would be written over what it is computed from."""
    for read, name in ((volume, "volume"), (mask, "mask")):
        each = read.values() if isinstance(read, dict) else [read]
        if output is not None and any(_is_same(output, one) for one in each):
            raise InvalidError(f"output: the {name} itself found, expected another array")
        check_output_apart(output, read, overwrite, name)


def _wrapped(target: Target, inside: Mask | None, job: Job, patience: Callable[[], Patience]) -> Target:
    """Returns what the passes of a job are written into, so that ``target`` has their mean within the mask."""
    if inside is not None:
        target = MaskedTarget(target, inside, job.origin)
    if job.averaged:
        shape = (job.output_channels, *job.output)
        target = MeanTarget(target, shape, job.dtype, len(job.passes()), patience)
    return target


def facts_of(job: Job) -> OutputFacts:
    """Returns what a store of the job's output is told of it."""
    source = job.source
    geometry = source.geometry.moved(job.origin) if source.geometry else None
    notes: dict[str, Any] = {
        "model": job.model.name,
        "version": job.model.version,
        "pad": job.pad,
        "offset": list(job.origin),
        "field_of_view": list(job.model.field_of_view),
        "dtype": job.dtype.name,
        "client": __version__,
        **({"is_label": True} if job.model.has_labels else {}),
    }
    if job.dtype.name == "uint8":
        notes["value_scale"] = 1 / 255  # times a voxel is what the model gave, of 0 to 1
    if source.standardised:
        notes["scale"] = SLICE_ZSCORE
    elif source.scaling:
        notes["scale"] = list(source.scaling)
    if job.masked_by:
        notes["mask"] = job.masked_by
    if job.averaged:
        notes["tta"] = names_of(job.averaged)
    if job.channels is not None:
        notes["channels"] = list(job.channels)
    return OutputFacts(
        (job.output_channels, *job.output),
        job.dtype,
        source.ndim,
        source.zarr_format,
        geometry,
        job.origin,
        notes,
    )
