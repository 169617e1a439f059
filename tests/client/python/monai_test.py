"""Inference in pipelines of MONAI, with stand-ins for it and for PyTorch. tests/e2e/compiled_test.py has both."""

import importlib
import sys
import types
import unittest
from unittest import mock

import numpy as np
import znni
from compiled_case import CompiledCase, batch, same
from fake_daemon import FakeDaemon
from fake_torch import Tensor


class MetaTensor(Tensor):
    """A tensor with an affine."""

    affine = np.diag([2.0, 3.0, 4.0, 1.0])


def convert(source, target, dtype=None):
    """Plays convert_to_dst_type: the class and the affine are those of `target`, the type is `dtype`."""
    made = type(target)(source.array) if isinstance(source, Tensor) else source
    assert isinstance(source, np.ndarray) or made.dtype == dtype
    return made, type(target), None


def fake_monai():
    """Returns the modules of MONAI that are imported."""
    monai, inferers, utils = (types.ModuleType(name) for name in ("monai", "monai.inferers", "monai.utils"))
    inferers.Inferer = type("Inferer", (), {})
    utils.convert_to_dst_type = convert
    monai.inferers, monai.utils = inferers, utils
    return {"monai": monai, "monai.inferers": inferers, "monai.utils": utils}


class MonaiTest(CompiledCase):
    def setUp(self):
        super().setUp()
        self.modules = fake_monai()
        self.enterContext(mock.patch.dict(sys.modules, self.modules))
        sys.modules.pop("znni.monai", None)
        self.addCleanup(sys.modules.pop, "znni.monai", None)
        self.monai = importlib.import_module("znni.monai")

    def client(self, **properties):
        """Returns a client of a daemon that returns its input."""
        self.daemon = FakeDaemon(properties=properties)
        return self.enterContext(znni.Client(self.enterContext(self.daemon.served())))

    def refused(self, words, call):
        with self.assertRaisesRegex(znni.InvalidError, f"^{words}"):
            call()

    def test_what_was_compiled(self):
        network = same()
        inferer = self.monai.Inferer(self.compile(network))
        self.assertIsInstance(inferer, self.modules["monai.inferers"].Inferer)
        x = batch(4, 5, 6, count=2)
        for found in (inferer(x), inferer(x, network), inferer(inputs=x, network=network)):
            self.assertIs(type(found), Tensor)
            np.testing.assert_array_equal(found.array, x.array)
        np.testing.assert_array_equal(inferer(x.array), x.array)
        self.refused("network: same found, expected None", lambda: inferer(x, same()))
        for call in (lambda: inferer(x, None, 1), lambda: inferer(x, condition=x)):
            self.refused("arguments for the network found, expected none", call)
        self.refused(r"inputs: shape \(4, 5, 6\) found", lambda: inferer(x.array[0, 0]))

    def test_a_module_that_returns_a_tuple(self):
        found = self.monai.Inferer(self.compile(same(lambda given: (given,))))(batch(4, 5, 6))
        self.assertIs(type(found), tuple)

    def test_windows_overlap(self):
        bound = {"tile_bound": True, "windows": {"least": [4] * 3, "period": [4] * 3, "remainder": [0] * 3}}
        fast = self.compile(same(), (1, 1, 4, 4, 4), {"window": "4,4,4"}, facts=bound)
        x = batch(8, 8, 8)
        np.testing.assert_array_equal(self.monai.Inferer(fast)(x).array, x.array)
        self.refused("x: 8x8x8 voxels found, expected 4x4x4", lambda: fast(x))

    def test_models_of_a_daemon(self):
        network = same(weights={"w": Tensor(np.zeros(3, np.float32))})
        client = self.client()
        x = batch(4, 5, 6)
        inferer = self.monai.Inferer(client, "same", network=network)
        np.testing.assert_array_equal(inferer(x, network).array, x.array)
        np.testing.assert_array_equal(inferer(x).array, x.array)
        network.weights["w"].array[0] = 1
        self.refused("network: the weights of same have changed since: export it again", lambda: inferer(x, network))
        self.refused(
            "network: same found, expected None: model 'same' computes; if it was exported",
            lambda: self.monai.Inferer(client, "same")(x, same()),
        )
        with self.assertRaisesRegex(znni.NotFoundError, "unknown model: 'other'"):
            self.monai.Inferer(client, "other")

    def test_coarse_outputs_have_their_own_voxels(self):
        x = batch(4, 6, 8)
        found = self.monai.Inferer(self.client(output_stride="1,2,2"), "same")(x)
        np.testing.assert_array_equal(found.array, x.array[:, :, :, ::2, ::2])

    def test_where_coarse_outputs_lie(self):
        x = MetaTensor(batch(4, 6, 8).array)
        found = self.monai.Inferer(self.client(output_stride="1,2,4"), "same")(x)
        np.testing.assert_array_equal(found.affine, [[2, 0, 0, 0], [0, 6, 0, 1.5], [0, 0, 16, 6], [0, 0, 0, 1]])

    def test_where_coarse_outputs_lie_that_are_made_dense(self):
        x = MetaTensor(batch(4, 6, 8).array)
        fast = self.compile(same(), (1, 1, 4, 6, 8), {"output_stride": "1,2,4"}, dense=True)
        np.testing.assert_array_equal(self.monai.Inferer(fast)(x).affine, x.affine)

    def test_where_smaller_coarse_outputs_lie(self):
        x = MetaTensor(batch(4, 5, 6).array)
        model = self.client(field_of_view="1,3,4").model("same")
        made = self.monai._as_inputs(x.array[..., 2:, 3:], (1, 2, 2), x, model, "none")
        np.testing.assert_array_equal(made.affine, [[2, 0, 0, 0], [0, 6, 0, 4.5], [0, 0, 8, 6], [0, 0, 0, 1]])

    def test_metadata(self):
        x = MetaTensor(batch(4, 5, 6).array)
        found = self.monai.Inferer(self.client(), "same")(x)
        self.assertIs(type(found), MetaTensor)
        np.testing.assert_array_equal(found.affine, x.affine)

    def test_where_smaller_outputs_lie(self):
        x = MetaTensor(batch(4, 5, 6).array)
        model = self.client(field_of_view="1,3,4").model("same")
        made = self.monai._as_inputs(x.array[..., 2:, 3:], (1, 1, 1), x, model, "none")
        np.testing.assert_array_equal(made.affine, [[2, 0, 0, 0], [0, 3, 0, 3], [0, 0, 4, 4], [0, 0, 0, 1]])
        np.testing.assert_array_equal(self.monai._as_inputs(x.array, (1, 1, 1), x, model, "edge").affine, x.affine)
        np.testing.assert_array_equal(MetaTensor.affine, np.diag([2, 3, 4, 1]), "that of the inputs stays")

    def test_wrong_use(self):
        self.refused("pad: 'x' found", lambda: self.monai.Inferer(self.client(), "same", pad="x"))
        self.refused("runner: str found, expected a znni.Client", lambda: self.monai.Inferer("same"))
        fast = self.compile()
        for options in ({"model": "same"}, {"version": "1"}, {"network": same()}):
            self.refused("model, version, network: are for a Client", lambda: self.monai.Inferer(fast, **options))

    def test_without_monai(self):
        del sys.modules["znni.monai"]
        with mock.patch.dict(sys.modules, {"monai": None}):
            with self.assertRaisesRegex(ImportError, r"^znni.monai needs MONAI: pip install 'znni\[monai\]'$"):
                importlib.import_module("znni.monai")


if __name__ == "__main__":
    unittest.main()
