"""Inference in pipelines of MONAI: an Inferer that stands where a SlidingWindowInferer stood.

Needs ``pip install 'znni[monai]'``.
"""

from __future__ import annotations

from typing import Any

try:
    from monai import inferers
    from monai.utils import convert_to_dst_type
except ImportError:
    raise ImportError("znni.monai needs MONAI: pip install 'znni[monai]'") from None

import numpy as np

from znni.box import Triple
from znni.client import Client
from znni.errors import InvalidError
from znni.model import Model
from znni.padding import check_pad
from znni.pytorch.batch import predict_batch
from znni.pytorch.compiled import Compiled
from znni.pytorch.export import check_unchanged, fingerprint
from znni.pytorch.tensors import array_of, check_batch, like


class Inferer(inferers.Inferer):
    """Computes the dense output of whole volumes by znnid, not window by window::

        inferer = znni.monai.Inferer(znni.compile(net))
        inferer = znni.monai.Inferer(znni.Client("127.0.0.1:8001"), "net", network=net)
        evaluator = SupervisedEvaluator(device="cpu", network=net, inferer=inferer, ...)

    ``runner``
        What ``znni.compile`` returned; or a Client, with the name of a ``model`` of its daemon.
    ``pad``
        That of ``Client.predict``. With "none" the output of a network that does not pad is smaller than its input.
    ``network``
        With a Client, the module that the model was exported from, which the caller vouches for: pipelines call the
        inferer with it. What was compiled knows its module.
    """

    def __init__(
        self, runner: Client | Compiled, model: str = "", *, pad: str = "none", version: str = "", network: Any = None
    ) -> None:
        self._runner: _Served | Compiled = _runner(runner, model, version, network)
        self._pad = check_pad(pad)

    def __call__(self, inputs: Any, network: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Returns the output for ``inputs``, [N, C, spatial...], of three spatial axes, on the CPU.

        It is a tensor, or a MetaTensor with the metadata of the inputs. Several outputs are a tuple, or a list, as the
        network returns them.

        Networks that depend on all voxels of what they are given (instance normalisation) are computed in overlapping
        windows, as their configuration says. An output that is coarser than the input has the network's own voxels.
        Where the output is smaller or coarser than the input, the affine of a MetaTensor says where its voxels lie:
        each coarse one in the middle of the input's voxels that it stands for.

        ``network`` must be None, or the module that the runner was made of or for: the model computes, not the module.
        Raises InvalidError for another one, and for one whose weights have changed since. Raises it for further
        arguments, too, which would be the network's. A network that is computed in windows and has outputs coarser than
        the input takes inputs of one window alone, padding included. Raises InvalidError for others, unless it was
        compiled with ``dense``.
        """
        self._runner.check_network(network)
        if args or kwargs:
            raise InvalidError("arguments for the network found, expected none: the model takes the inputs alone")
        batch = array_of(inputs, "inputs")
        model = self._runner.model
        check_batch(batch.shape, model.channels, "inputs")
        arrays = self._runner.infer(batch, self._pad)
        strides = self._runner.strides()
        outputs = [_as_inputs(*each, inputs, model, self._pad) for each in zip(arrays, strides)]
        return self._runner.packed(outputs)


class _Served:
    """Computes by a model of a daemon that runs already."""

    def __init__(self, client: Client, name: str, version: str, network: Any) -> None:
        self.client = client
        self.model: Model = client.model(name, version)
        self._network = network
        self._fingerprint = 0 if network is None else fingerprint(network)

    def infer(self, batch: np.ndarray, pad: str) -> list[np.ndarray]:
        """Returns each output for a batch."""
        return predict_batch(self.client, self.model, batch, pad, own=True)

    def strides(self) -> list[Triple]:
        """Returns the stride of each output that infer() returns, in voxels of the input."""
        return list(self.model.output_strides.values())

    def packed(self, outputs: list) -> Any:
        """Returns one output by itself, several in a tuple."""
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def check_network(self, network: Any) -> None:
        """Raises InvalidError unless ``network`` is None or the one that was vouched for, with the same weights."""
        if network is None:
            return
        if network is not self._network:
            raise InvalidError(
                f"network: {type(network).__name__} found, expected None: model '{self.model.name}' "
                "computes; if it was exported from this network, say Inferer(..., network=it)"
            )
        check_unchanged(network, self._fingerprint, "export it again")


def _runner(runner: Any, model: str, version: str, network: Any) -> _Served | Compiled:
    if isinstance(runner, Client):
        return _Served(runner, model, version, network)
    if not isinstance(runner, Compiled):
        raise InvalidError(
            f"runner: {type(runner).__name__} found, expected a znni.Client, or what znni.compile returned"
        )
    if model or version or network is not None:
        raise InvalidError("model, version, network: are for a Client: what znni.compile returned has them")
    return runner


def _as_inputs(array: np.ndarray, stride: Triple, inputs: Any, model: Model, pad: str) -> Any:
    """Returns an output of this stride as a tensor of the inputs' class, with their metadata."""
    output = like(array, inputs)
    made = convert_to_dst_type(output, inputs, dtype=output.dtype)[0]
    before = model.halo[0] if pad == "none" else (0, 0, 0)
    if (any(before) or stride != (1, 1, 1)) and hasattr(made, "affine"):
        made.affine = made.affine @ _voxels_of_inputs(before, stride, made.affine)
    return made


def _voxels_of_inputs(before: Triple, stride: Triple, affine: Any) -> Any:
    """Returns the affine from voxels of an output to those of the inputs, in the type of another one."""
    step = np.diag([*stride, 1.0])
    step[:-1, -1] = [first + (each - 1) / 2 for first, each in zip(before, stride)]
    return step if isinstance(affine, np.ndarray) else affine.new_tensor(step)
