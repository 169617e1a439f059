"""Published networks give what ONNX Runtime computes of the whole volume, whatever the plan: untiled, in random
patches, streamed along each axis, open and closed, for volumes that are smaller than a patch.

ZNNI_FIELD_NETS chooses the networks of field/nets.py: all, or NAME,NAME,...; without it one runs, in seconds.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
import znni
from harness import ROOT, ZNNID, Daemon

sys.path.append(str(ROOT / "deploy/lib"))  # the networks that deploy/bench has, too

from field.nets import NETS
from field.plans import Planner, plans_of

FEW = ("rsunet_trilinear",)
DRAWN, FEW_DRAWN = 24, 6  # plans
BOUND = 1e-4  # of the largest output


def wanted():
    """Returns the names of the networks to test."""
    text = os.environ.get("ZNNI_FIELD_NETS", ",".join(FEW))
    names = list(NETS) if text == "all" else text.split(",")
    unknown = sorted(set(names) - set(NETS))
    if unknown:
        raise SystemExit(f"ZNNI_FIELD_NETS: no network '{unknown[0]}': use all, or some of {','.join(NETS)}")
    return names


class Oracle:
    """ONNX Runtime on the whole volume, [C,Z,Y,X]."""

    def __init__(self, graph, model):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.rank = graph.rank
        self.channels = {name: graph.channels[name] for name, op in graph.operator.items() if not op}

    def volume(self, rng, extent):
        """Draws the channels of all inputs."""
        return rng.standard_normal((sum(self.channels.values()), *extent), np.float32)

    def once(self, volume):
        """Returns the channels of all outputs, each voxel as often as it stands for voxels of the volume."""
        parts = np.split(volume, np.cumsum(list(self.channels.values()))[:-1])
        found = self.session.run(None, {name: part[None] for name, part in zip(self.channels, parts)})
        return np.concatenate([one[0] for one in found])

    def __call__(self, volume, lost):
        if self.rank == 2:
            exact = np.stack([self.once(volume[:, z]) for z in range(volume.shape[1])], axis=1)
        else:
            exact = self.once(volume)
        repeats = [(n - lost) // m for n, m in zip(volume.shape[1:], exact.shape[1:])]
        return np.kron(exact, np.ones((1, *repeats), np.float32))


class FieldTest(unittest.TestCase):
    """A daemon that loads each network with one plan after the other."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.models = self.folder / "models"
        self.models.mkdir()
        words = ("--model-control-mode", "explicit", "--threads", "1")
        self.daemon = self.enterContext(Daemon(self.models, *words, mem="1G"))
        self.control = self.enterContext(self.daemon.client())
        self.client = self.enterContext(znni.Client(self.daemon.url))

    def compare(self, name, kind, plan, cases):
        """Loads the plan, compares what it gives for volumes, and unloads it."""
        (self.models / name / "1/plan.pbtxt").write_text(plan)
        self.control.load_model(name)
        self.assertFalse([line for line in self.daemon.log if "is not used" in line], f"{name}: {kind}")
        for volume, exact in cases:
            with self.subTest(f"{name}, {kind}, {volume.shape}"):
                found = self.client.predict(name, volume, progress=False)
                self.assertEqual(found.shape, exact.shape)
                self.assertLessEqual(np.abs(found - exact).max(), BOUND * np.abs(exact).max())
        self.control.unload_model(name)

    def kinds_of_plans(self, name, seed):
        """Compares a network in all kinds of plans, and returns these."""
        net = NETS[name]
        graph, outputs = net.make()
        model, file = graph.model(*outputs), self.models / name / "1/model.onnx"
        file.parent.mkdir(parents=True)
        onnx.save(model, file)
        oracle, rng = Oracle(graph, model), np.random.default_rng(seed)
        volumes = [oracle.volume(rng, extent) for extent in net.extents()]
        cases = [(volume, oracle(volume, net.lost)) for volume in volumes]
        planner = Planner(ZNNID.parent / "planner", file, self.folder / "plans" / name)
        plans = plans_of(planner, net.extents()[0], DRAWN if "ZNNI_FIELD_NETS" in os.environ else FEW_DRAWN, seed)
        for kind, plan in plans:
            self.compare(name, kind, plan, cases)
        shutil.rmtree(self.models / name)  # a daemon gives each model it knows a share of its memory
        print(f"{name}: {len(plans)} plans", flush=True)
        return {kind for kind, _ in plans}

    def test_all_kinds_of_plans(self):
        kinds = set()
        for seed, name in enumerate(wanted()):
            with self.subTest(name):
                kinds |= self.kinds_of_plans(name, seed)
        print("\n".join(sorted(kinds)))
        for word in ("stream", "patch"):
            self.assertTrue([kind for kind in kinds if word in kind], f"{word}: {kinds}")


if __name__ == "__main__":
    unittest.main()
