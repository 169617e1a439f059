"""A module of PyTorch, computed by a znnid of its own, that is called as the module is."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from znni.box import Triple, text_of
from znni.client import Client
from znni.errors import Error, InvalidError
from znni.local.own_folder import OwnFolder
from znni.local.planner import check
from znni.local.private_daemon import PrivateDaemon
from znni.local.repository import Config
from znni.model import Model
from znni.progress import Wanted
from znni.pytorch.batch import predict_batch
from znni.pytorch.export import (
    Example,
    Exported,
    Output,
    check_unchanged,
    export,
    fingerprint,
    output_names,
    warn_of_training,
)
from znni.pytorch.tensors import array_of, check_batch, like


class Compiled:
    """Computes what a module of PyTorch computes: ``y = fast(x)``. ``compile`` makes it.

    ``client`` is connected to its daemon, and ``model`` has the facts about the model there. As a context it stops the
    daemon at the end; ``close()``, and the end of this object or process, do so, too.
    """

    def __init__(self, module: Any, exported: Exported, daemon: PrivateDaemon, client: Client, dense: bool) -> None:
        self.client = client
        self.model: Model
        try:
            self.model = client.model(daemon.model)
        except Error as error:
            raise daemon.explained(error) from None
        self._daemon = daemon
        self._exported = exported
        self._dense = dense
        self._module = weakref.ref(module)
        self._fingerprint = fingerprint(module)
        self._end: Any = None

    def __enter__(self) -> Compiled:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keep(self, resources: contextlib.ExitStack) -> Compiled:
        """Returns itself, with what is closed at the end."""
        self._end = weakref.finalize(self, _close, os.getpid(), resources)
        return self

    def close(self) -> None:
        """Stops the daemon."""
        self._end()

    def __call__(self, x: Any) -> Any:
        """Returns what the module returns for ``x``, [N, C, Z, Y, X], a tensor of PyTorch on the CPU or an array of
        NumPy. Outputs are tensors or arrays, likewise, and have no gradient. Voxels of uint8, uint16 and float16 are
        computed as float32. The volumes of a batch are computed one after the other.

        Raises a subclass of Error for what the module's network does not take.
        """
        batch = array_of(x, "x")
        check_batch(batch.shape, self.model.channels, "x")
        if not self._dense:
            self._check_window(batch.shape[2:])
        return self.packed([like(array, x) for array in self.infer(batch, "none")])

    def infer(self, batch: np.ndarray, pad: str) -> list[np.ndarray]:
        """Returns each output for a batch [N, C, Z, Y, X] with ``pad`` of ``Client.predict``. A module that depends on
        all voxels of what it is given gives means of overlapping windows for volumes of other extents."""
        if not self._end.alive:
            raise InvalidError(f"{self._exported.name}: is closed: compile it again")
        try:
            found = predict_batch(self.client, self.model, batch, pad, own=not self._dense)
        except Error as error:
            raise self._daemon.explained(error) from None
        return found if self._dense else [_as_returned(*each) for each in zip(found, self._exported.outputs)]

    def strides(self) -> list[Triple]:
        """Returns the stride of each output that infer() returns, in voxels of the input."""
        own = self.model.output_strides.values()
        return [(1, 1, 1) for _ in own] if self._dense else list(own)

    def packed(self, outputs: list) -> Any:
        """Returns outputs as the module returns them: by itself, or in a tuple or list."""
        return outputs[0] if self._exported.sequence is None else self._exported.sequence(outputs)

    def check_network(self, network: Any) -> None:
        """Raises InvalidError unless ``network`` is None, this object, or the module that it was made of, with the same
        weights."""
        if network is None or network is self:
            return
        if network is not self._module():
            raise InvalidError(
                f"network: {type(network).__name__} found, expected None, or the {self._exported.name} "
                "that was compiled"
            )
        check_unchanged(network, self._fingerprint, "compile it again")

    def _check_window(self, extent: Triple) -> None:
        if self.model.window is not None and tuple(extent) != self.model.window:
            raise InvalidError(
                f"x: {text_of(extent)} voxels found, expected {text_of(self.model.window)}: "
                f"{self._exported.name} depends on all voxels of what it is given; compile it with "
                "dense=True for means of overlapping windows, or with an example of these extents"
            )


def compile(
    module: Any,
    example: Example = None,
    *,
    mem: str | int | None = None,
    threads: int | None = None,
    config: Config = None,
    dense: bool = False,
    progress: Wanted = True,
) -> Compiled:
    """Returns an object that computes what ``module``, a torch.nn.Module, computes, and is called as that is::

        fast = znni.compile(net, mem="8G")
        y = fast(x)                             # x is [N, C, Z, Y, X], on the CPU

    Exports the module to a temporary file of ONNX and starts a znnid for it, as ``predict`` does. The module's weights
    are those of now: what changes afterwards is not seen. It is computed as in eval mode, whatever mode it is in: a
    module in training mode that has dropout or batch normalisation is warned of. Modes and weights stay as they are.
    Several outputs are returned in a tuple, or a list, as the module returns them. Outputs have no gradient. What the
    module decides in Python by the extents of ``x`` is decided by those of the example; PyTorch warns of that.

    The output is the module's, voxel by voxel, for all extents that it takes. A module that pools, but neither pads nor
    upsamples, returns one voxel for each of its stride, where znnid computes all. It is refused, but with ``dense``.

    ``example``
        A small volume that the module takes, or its shape, [1, C, Z, Y, X]; None tries some cubes. A module that
        depends on all voxels (instance or group normalisation, global pooling, aligned corners) takes volumes of the
        example's extents alone, but with ``dense``.
    ``mem``, ``threads``, ``config``
        Are those of ``predict``. With ``dense``, ``config`` may say how windows overlap: {"window_overlap": 0.25,
        "window_weight": "constant"}.
    ``dense``
        Whether the output is znnid's dense one, as ``Client.predict`` returns it, also where the module's is another.
        It has one voxel for each position of the field of view. Voxels of coarse outputs are repeated. Classes of
        patches are those at each patch. Numbers of classes are float32. Volumes of other extents than those that the
        module is bound to are blends of overlapping windows.

    Raises InvalidError for a module that cannot be exported, or whose network does not run, with all that keeps it
    from running.
    """
    resources = contextlib.ExitStack()
    try:
        folder = OwnFolder()
        resources.callback(folder.cleanup)
        exported = export(module, example, folder.name)
        facts = _checked(exported)
        settings = _settings(config, facts, exported, example is not None)
        if not dense:
            _check_outputs(facts, exported)
        warn_of_training(module)
        daemon = PrivateDaemon(exported.network, mem=mem, threads=threads, config=settings, progress=progress)
        resources.callback(daemon.stop)  # before it starts: a Ctrl-C may come as soon as it has
        daemon.__enter__()
        client = resources.enter_context(Client(daemon.address, retry_seconds=0))
        made = Compiled(module, exported, daemon, client, dense)
        _check_names(made.model, exported)
        return made.keep(resources)
    except BaseException:
        resources.close()
        raise


def _close(process: int, resources: contextlib.ExitStack) -> None:
    """Stops the daemon, but not that of the process that this one was forked from."""
    if os.getpid() == process:
        resources.close()


def _checked(exported: Exported) -> Mapping[str, Any]:
    """Returns the facts about a network. Raises InvalidError with all that keeps it from running."""
    answer = check(exported.network)
    if answer:
        return answer.facts
    lines = answer.text.removeprefix(f"{exported.network} ").splitlines()
    raise InvalidError(f"module: {exported.name} {lines[0]}: {' | '.join(lines[1:])}")


def _settings(config: Config, facts: Mapping[str, Any], exported: Exported, is_given: bool) -> Config:
    """Returns ``config`` with the window of a network that is bound to one, the example's, unless it has it."""
    if not facts["tile_bound"] or not (config is None or isinstance(config, Mapping)) or "window" in (config or {}):
        return config
    if not is_given:
        raise InvalidError(
            f"example: None found, but {exported.name} depends on all voxels of what it is given: pass "
            "the shape that it is called with"
        )
    return {**(config or {}), "window": exported.extent}


def _check_outputs(facts: Mapping[str, Any], exported: Exported) -> None:
    """Raises InvalidError unless the network's outputs are as large as what the module returned for the example."""
    _check_extent(facts["windows"] or facts["volume"], exported)
    whole = tuple(a - b for a, b in zip(exported.extent, facts["output"]["voxels_smaller"]))
    for found, output in zip(facts["outputs"], exported.outputs):
        own = tuple(-(-n // s) for n, s in zip(whole, found.get("stride", facts["output"]["stride"])))
        dense = (1, found["channels"], *own)
        if output.shape != dense and (found["channels"] > 1 or output.shape != (1, *own)):
            raise InvalidError(
                f"module: {exported.name} returns {list(output.shape)} for {list(exported.example)}, "
                f"where its dense output is {list(dense)}: pass dense=True for that"
            )
    if not facts["tile_bound"] and min(whole) == 1:
        raise InvalidError(
            f"example: {list(exported.example)} found, for which {exported.name} returns one voxel "
            "along an axis: pass a larger one, which shows its strides"
        )


def _check_extent(taken: Mapping[str, Any], exported: Exported) -> None:
    """Raises InvalidError unless the strides of the network come together for the example."""
    least, period, remainder = (tuple(taken[key]) for key in ("least", "period", "remainder"))
    if all(n >= a and n % p == r for n, a, p, r in zip(exported.extent, least, period, remainder)):
        return
    raise InvalidError(
        f"example: {text_of(exported.extent)} voxels found, expected at least {text_of(least)}, and "
        f"{text_of(remainder)} mod {text_of(period)}, for the strides of {exported.name}"
    )


def _check_names(model: Model, exported: Exported) -> None:
    """Raises InvalidError unless the model has the module's outputs, in its order: a configuration may name others."""
    found, expected = list(model.outputs), output_names(exported.outputs)
    if found != expected:
        raise InvalidError(
            f"config: outputs {', '.join(found)} found, expected {', '.join(expected)}, as {exported.name} returns them"
        )


def _as_returned(array: np.ndarray, output: Output) -> np.ndarray:
    """Returns an output in the type of the module's, and without the one channel where that has left it out."""
    found = array if output.dtype == "float32" else array.astype(output.dtype)
    return found[:, 0] if len(output.shape) == 4 else found
