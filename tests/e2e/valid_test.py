"""What `planner check --make-valid` writes: ONNX Runtime computes of it what it computes of the padded file, where that
depends on no padding, and the daemon computes the same."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnx
import padded_test as nets
import znni
from harness import ZNNID, Daemon

PLANNER = ZNNID.parent / "planner"
BOUND = 1e-5  # of the largest output
EXTENT = (44, 48, 52)  # of the volumes


def heads():
    """Two outputs, one of half the resolution."""
    graph = nets.Graph(21, 1)
    skip = graph.add("Relu", [graph.conv("input", 4)], 4)
    low = graph.conv(graph.add("MaxPool", [skip], 4, kernel_shape=[2] * 3, strides=[2] * 3), 4)
    both = graph.add("Concat", [graph.transposed(low, 4, (2, 2, 2), 2), skip], 8, axis=1)
    model = graph.model(graph.conv(both, 2))
    value = onnx.helper.make_tensor_value_info
    model.graph.output.append(value(low, onnx.TensorProto.FLOAT, ["n", 4, "a", "b", "c"]))
    return model


def classifier():
    """Poolings that nothing upsamples behind: dense without padding."""
    graph = nets.Graph(22, 1)
    last = graph.add("Relu", [graph.conv("input", 4)], 4)
    last = graph.add("MaxPool", [last], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    last = graph.add("Relu", [graph.conv(last, 4)], 4)
    last = graph.add("MaxPool", [last], 4, kernel_shape=[2] * 3, strides=[2] * 3)
    return graph.model(graph.conv(last, 2))


def shuffled():
    """A pixel shuffle, which is not written."""
    rng = np.random.default_rng(23)
    make, value, real = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    tensors = [rng.normal(0, 1, (8, 1, 3, 3)), rng.normal(0, 1, 8)]
    graph = onnx.helper.make_graph(
        [
            make("Conv", ["input", "a", "b"], ["low"], name="conv", strides=[2] * 2, pads=[1] * 4),
            make("DepthToSpace", ["low"], ["out"], name="up", blocksize=2),
        ],
        "net",
        [value("input", real, ["n", 1, "y", "x"])],
        [value("out", real, None)],
        [onnx.numpy_helper.from_array(t.astype(np.float32), name) for t, name in zip(tensors, "ab")],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


class ValidTest(unittest.TestCase):
    """Nets of padded_test.py, and others."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "net.onnx"
        self.valid = self.folder / "valid.onnx"
        places = {"ZNNID": str(ZNNID), "ZNNI_PLANNER": str(PLANNER), "XDG_STATE_HOME": str(self.folder / "state")}
        self.enterContext(mock.patch.dict(os.environ, places))

    def planner(self, *arguments):
        """Runs planner check on the file."""
        command = [PLANNER, "check", self.file, *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)

    def made(self, model):
        """The facts of the valid form, which is written."""
        onnx.save(model, self.file)
        done = self.planner("--make-valid", self.valid, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        onnx.checker.check_model(onnx.load(self.valid), full_check=True)
        return json.loads(done.stdout)

    def volume(self, facts):
        """A volume that both nets take."""
        channels = facts["valid"]["input"]["channels"]
        return np.random.default_rng(5).standard_normal((1, channels, *EXTENT), np.float32)

    def assert_inside(self, padded, valid, first):
        """The valid output is the padded one from voxel `first` on, to its end."""
        self.assertEqual(padded.shape[:2], valid.shape[:2])
        inner = padded[(..., *(slice(a, a + n) for a, n in zip(first, valid.shape[2:])))]
        np.testing.assert_allclose(valid, inner, rtol=0, atol=BOUND * np.abs(padded).max())

    def compare(self, model):
        """Compares both files in ONNX Runtime. Returns a volume and what it gives of the valid one."""
        facts = self.made(model)
        self.assertTrue(facts["pads"])
        self.assertFalse(facts["valid"]["pads"])
        volume = self.volume(facts)
        valid = nets.expected(onnx.load(self.valid), volume)
        self.assertEqual(
            list(valid.shape[2:]), [n - lost for n, lost in zip(EXTENT, facts["valid"]["output"]["voxels_smaller"])]
        )
        self.assert_inside(nets.expected(model, volume), valid, facts["first_voxel"])
        return volume, valid

    def test_nets_without_strides(self):
        """Chains, residual blocks, one-sided pads."""
        for make in (nets.meshnet, nets.uneven, nets.activated):
            with self.subTest(make.__name__):
                self.compare(make())

    def test_u_nets(self):
        """U-Nets with poolings, strides, transposed convolutions and nearest neighbours."""
        for make in (nets.nearest, nets.grouped, nets.gated, nets.copied, nets.shaped):
            with self.subTest(make.__name__):
                self.compare(make())

    def test_the_engine_computes_the_same(self):
        """A daemon with valid forms, of U-Nets, one of which interpolates, and of residual blocks."""
        models, wanted = self.folder / "models", {}
        for make in (nets.unet, nets.strided, nets.linear, nets.residual):
            wanted[make.__name__] = self.compare(make())
            place = models / make.__name__ / "1"
            place.mkdir(parents=True)
            self.valid.replace(place / "model.onnx")
        with Daemon(models, mem="512M") as daemon, daemon.client() as client:
            for name, (volume, exact) in wanted.items():
                with self.subTest(name):
                    found = nets.infer(client, name, volume)
                    np.testing.assert_allclose(found, exact, rtol=0, atol=BOUND * np.abs(exact).max())

    def test_a_valid_net_is_written_as_it_is(self):
        """What is written is valid, and reads back as the same network."""
        self.compare(nets.strided())
        self.valid.replace(self.file)
        before = self.file.read_bytes()
        done = self.planner("--make-valid", self.valid)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("is valid as it is: nothing in it pads\nwritten to ", done.stdout)
        self.assertEqual(self.valid.read_bytes(), before)

    def test_pads_that_reflect(self):
        """They are removed, as zeros are."""
        self.compare(nets.reflected())

    def test_heads_of_two_resolutions(self):
        """Each output is the padded one's, from the same place on."""
        model = heads()
        facts = self.made(model)
        volume = self.volume(facts)
        options = nets.onnxruntime.SessionOptions()
        options.log_severity_level = 3
        found = [
            nets.onnxruntime.InferenceSession(m.SerializeToString(), options).run(None, {"input": volume})
            for m in (model, onnx.load(self.valid))
        ]
        for padded, valid, step in zip(*found, (1, 2)):
            self.assertTrue(all(a % step == 0 for a in facts["first_voxel"]))
            self.assert_inside(padded, valid, [a // step for a in facts["first_voxel"]])

    def test_a_net_that_only_pools_is_dense(self):
        """Every fourth voxel of its dense output is one of the padded net's."""
        model = classifier()
        facts = self.made(model)
        self.assertEqual(facts["step"], [4, 4, 4])
        volume = self.volume(facts)
        padded = nets.expected(model, volume)[0]
        found = znni.predict(self.valid, volume[0], progress=False)
        first = [-a % 4 for a in facts["first_voxel"]]  # of the dense output, that a voxel of the padded net's lies at
        dense = found[(slice(None), *(slice(a, None, 4) for a in first))]
        offset = [(a + b) // 4 for a, b in zip(first, facts["first_voxel"])]
        inner = padded[(slice(None), *(slice(a, a + n) for a, n in zip(offset, dense.shape[1:])))]
        np.testing.assert_allclose(dense, inner, rtol=0, atol=BOUND * np.abs(padded).max())

    def test_what_is_told_without_a_file(self):
        """Every node is named; nothing is written."""
        onnx.save(nets.unet(), self.file)
        done = self.planner("--make-valid", "--volume", "64,64,64")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("pads become 0; they were 1x1x1 at both ends\n", done.stdout)
        self.assertIn("cropped by", done.stdout)
        self.assertIn("a volume of 64x64x64: ", done.stdout)
        self.assertTrue(done.stdout.endswith("not written: name a file, --make-valid OUT.onnx\n"))
        self.assertEqual(sorted(self.folder.iterdir()), [self.file])
        self.assertIn("--make-valid\n", self.planner().stdout)

    def test_a_net_that_is_not_written(self):
        """What changes is told all the same; a file is refused in one line."""
        onnx.save(shuffled(), self.file)
        self.assertIn("cannot be written: node ", self.planner("--make-valid").stdout)
        done = self.planner("--make-valid", self.valid)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
        self.assertRegex(done.stderr, "^planner: .*valid.onnx: node .*pixel shuffle")
        self.assertFalse(self.valid.exists())

    def test_the_net_itself_is_not_overwritten(self):
        """By its name, by another one, and by one of another kind."""
        onnx.save(nets.meshnet(), self.file)
        before = self.file.read_bytes()
        link = self.folder / "link.onnx"
        link.symlink_to(self.file)
        for output, words in ((self.file, "not overwritten"), (link, "not overwritten"), ("out.pbtxt", ".onnx")):
            done = self.planner("--make-valid", output)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn(words, done.stderr)
        self.assertEqual(self.file.read_bytes(), before)

    def test_in_python(self):
        """The client's function gives the same facts."""
        onnx.save(nets.meshnet(), self.file)
        form = znni.make_valid(self.file, self.valid)
        self.assertEqual(form.first, (10, 10, 10))
        self.assertIn("written to", str(form))
        call = f"znni.make_valid('{self.file}', 'valid.onnx')"
        self.assertTrue(str(znni.check(self.file)).endswith(f"without it: {call}"), znni.check(self.file))
        self.assertTrue(str(znni.make_valid(self.file)).endswith(call))
        self.assertTrue(znni.check(self.file).facts["pads"])
        self.assertFalse(znni.check(self.valid).facts["pads"])


if __name__ == "__main__":
    unittest.main()
