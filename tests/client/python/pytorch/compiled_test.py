"""Modules that are called as before, with stand-ins. tests/e2e/compiled_test.py has PyTorch and a daemon."""

import contextlib
import gc
import os
import unittest
from unittest import mock

import grpc
import numpy as np
import znni
from compiled_case import CompiledCase, batch, same
from fake_daemon import Refused
from fake_torch import Tensor
from znni.client import Client
from znni.local.private_daemon import PrivateDaemon

HALF = {"output": {"channels": 1, "voxels_smaller": [0, 0, 0], "stride": [2, 2, 2]}}
BOUND = {"tile_bound": True, "windows": {"least": [4] * 3, "period": [4] * 3, "remainder": [0] * 3}}


def halved(given):
    """Returns every second voxel."""
    return Tensor(given.array[:, :, ::2, ::2, ::2])


class CompiledTest(CompiledCase):
    def refused(self, words, *given, **options):
        """Expects this error before a daemon is started."""
        with self.assertRaisesRegex(znni.InvalidError, words) as caught:
            self.compile(*given, **options)
        self.assertNotIn("\n", str(caught.exception))
        self.assertFalse((self.folder / "started").exists())
        self.assertEqual(self.left(), [])

    def test_returns_what_the_module_returns(self):
        fast = self.compile(mem="8G", threads=3)
        for x in (batch(4, 5, 6), batch(3, 3, 3, count=2)):
            found = fast(x)
            self.assertIsInstance(found, Tensor)
            self.assertEqual(found.dtype, "torch.float32")
            np.testing.assert_array_equal(found.array, x.array)
            found = fast(x.array)
            self.assertIsInstance(found, np.ndarray)
            np.testing.assert_array_equal(found, x.array)
        self.assertIn("--mem 8G --threads 3", (self.folder / "arguments").read_text())
        self.assertEqual(fast.model.name, "same")

    def test_sequences(self):
        for kind in (tuple, list):
            found = self.compile(same(lambda given, kind=kind: kind([given])))(batch(4, 5, 6))
            self.assertEqual((type(found), len(found)), (kind, 1))

    def test_numbers_of_classes(self):
        module = same(lambda given: Tensor(given.array[:, 0].astype(np.int64)))
        x = batch(4, 5, 6, count=2)
        found = self.compile(module)(x)
        self.assertEqual((found.dtype, found.shape), ("torch.int64", (2, 4, 5, 6)))
        np.testing.assert_array_equal(found.array, x.array[:, 0])
        found = self.compile(module, dense=True)(x)
        self.assertEqual((found.dtype, found.shape), ("torch.float32", (2, 1, 4, 5, 6)))

    def test_coarse_outputs(self):
        x = batch(4, 6, 8)
        stride = {"output_stride": "2,2,2"}
        np.testing.assert_array_equal(
            self.compile(same(halved), properties=stride, facts=HALF)(x).array, x.array[:, :, ::2, ::2, ::2]
        )
        np.testing.assert_array_equal(
            self.compile(same(halved), properties=stride, facts=HALF, dense=True)(x).array, x.array
        )

    def test_dense_outputs_of_poolings_are_asked_for(self):
        self.refused(
            r"^module: same returns \[1, 1, 8, 8, 8\] for \[1, 1, 16, 16, 16\], where its dense output is "
            r"\[1, 1, 16, 16, 16\]: pass dense=True for that$",
            same(halved),
        )
        squeezed = same(lambda given: Tensor(np.repeat(given.array[0], 2, 0)))
        self.refused(
            r"^module: same returns \[2, 16, 16, 16\] .* is \[1, 2, 16, 16, 16\]: pass dense=True for that$",
            squeezed,
            facts={"outputs": [{"name": "output", "channels": 2}]},
        )
        x = batch(4, 5, 6)
        np.testing.assert_array_equal(self.compile(same(halved), dense=True)(x).array, x.array)

    def test_what_the_example_must_show(self):
        self.refused("^example: .* returns one voxel along an axis: pass a larger one", same(), (1, 1, 1, 9, 9))
        even = {"volume": {"least": [4] * 3, "period": [2] * 3, "remainder": [0] * 3}}
        self.refused(
            "^example: 15x16x16 voxels found, expected at least 4x4x4, and 0x0x0 mod 2x2x2, for the strides",
            same(halved),
            (1, 1, 15, 16, 16),
            facts={**HALF, **even},
        )

    def test_networks_that_do_not_run(self):
        self.refused(
            r"^module: same does not run here: 2 blockers of 2 kinds: A \(1\): no; first 'a' \| "
            r"B \(1\): never$",
            refused="does not run here: 2 blockers of 2 kinds\nA (1): no; first 'a'\nB (1): never",
        )

    def test_windows(self):
        self.refused(
            "^example: None found, but same depends on all voxels of what it is given: pass the shape", facts=BOUND
        )
        window = {"window": "4,8,12"}
        fast = self.compile(same(), (1, 1, 4, 8, 12), window, facts=BOUND, config={"window_overlap": 0.25})
        config = (self.folder / "config.pbtxt").read_text()
        self.assertRegex(config, '"window_overlap" value { string_value: "0.25" }')
        self.assertRegex(config, '"window" value { string_value: "4,8,12" }')
        x = batch(4, 8, 12)
        np.testing.assert_array_equal(fast(x).array, x.array)
        with self.assertRaisesRegex(znni.InvalidError, "^x: 8x8x12 voxels found, expected 4x8x12: same depends on all"):
            fast(batch(8, 8, 12))
        x = batch(8, 8, 12)
        fast = self.compile(same(), None, window, facts=BOUND, config={"window": (4, 8, 12)}, dense=True)
        np.testing.assert_array_equal(fast(x).array, x.array)

    def test_what_is_not_taken(self):
        fast = self.compile()
        for words, x in (
            (r"x: shape \(4, 5, 6\) found, expected \[N, 1, Z, Y, X\]", np.zeros((4, 5, 6), np.float32)),
            (r"x: shape \(1, 2, 4, 5, 6\) found", np.zeros((1, 2, 4, 5, 6), np.float32)),
            ("x: voxels of type int64", batch(4, 5, 6, kind=np.int64)),
            (r"x: a tensor on cuda:0 found, .*: pass x.cpu\(\)", Tensor(batch(4, 5, 6).array, "cuda:0")),
            ("x: a tensor that requires a gradient", Tensor(batch(4, 5, 6).array, requires_grad=True)),
        ):
            with self.assertRaisesRegex(znni.InvalidError, f"^{words}"):
                fast(x)
        self.assertEqual(self.daemon.headers, [])
        self.daemon.streams = [Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "no turn for it")]
        with self.assertRaisesRegex(znni.OverBudgetError, "^no turn for it$"):
            fast(batch(4, 5, 6))

    def test_outputs_that_are_named_otherwise(self):
        for outputs in (["output0"], ["output1", "output0"], ["output0", "output2"]):
            with self.assertRaisesRegex(
                znni.InvalidError,
                f"^config: outputs {', '.join(outputs)} found, expected output0, output1, as same returns them$",
            ):
                self.compile(same(lambda given: (given, given)), outputs=outputs)
            self.assertEqual(self.left(), [])
        found = self.compile(same(lambda given: (given, given)), outputs=["output0", "output1"])
        self.assertEqual(list(found.model.outputs), ["output0", "output1"])
        with self.assertRaisesRegex(znni.InvalidError, "^config: outputs inner found, expected output, as same"):
            self.compile(outputs=["inner"])

    def test_warns_of_training(self):
        module = same()
        module.running_mean = Tensor(np.zeros(1, np.float32))
        module.training = True
        with self.assertWarnsRegex(UserWarning, "same is in training mode") as caught:
            self.compile(module)
        self.assertTrue(module.training)
        self.assertRegex(caught.filename, "compiled_case.py$", "who called it")

    def test_the_end(self):
        with self.compile() as fast:
            process = fast._daemon.process
            self.assertEqual(len(self.left()), 2, "of the file and of the daemon")
        self.assertEqual(self.left(), [])
        self.assertIsNotNone(process.returncode)
        fast.close()
        with self.assertRaisesRegex(znni.InvalidError, "^same: is closed: compile it again$"):
            fast(batch(4, 5, 6))

    def test_ends_with_the_object(self):
        fast = self.compile()
        process = fast._daemon.process
        del fast
        gc.collect()
        self.assertIsNotNone(process.returncode)
        self.assertEqual(self.left(), [])

    def test_a_forked_process_ends_nothing(self):
        fast = self.compile()
        with mock.patch.object(os, "getpid", return_value=0):
            fast.close()
        self.assertIsNone(fast._daemon.process.poll())
        fast._daemon.stop()

    def test_a_daemon_that_ended(self):
        fast = self.compile()
        self.daemon.streams = [Refused(grpc.StatusCode.UNAVAILABLE)]
        fast._daemon.process.kill()
        with self.assertRaisesRegex(znni.UnavailableError, "^znnid ended with exit code -9"):
            fast(batch(4, 5, 6))

    def test_a_daemon_that_ends_before_it_is_asked(self):
        def ended(*_):
            self.process.kill()
            raise znni.UnavailableError("no answer", grpc.StatusCode.UNAVAILABLE)

        with self.held(), mock.patch.object(Client, "model", ended):
            with self.assertRaisesRegex(znni.UnavailableError, "^znnid ended with exit code -9: .*listening on"):
                self.compile()
        self.assertEqual(self.left(), [])

    def test_a_ctrl_c_as_soon_as_it_has_started(self):
        with self.held(KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.compile()
        self.assertIsNotNone(self.process.returncode)
        self.assertEqual(self.left(), [])

    def test_a_ctrl_c_at_the_very_end(self):
        for name in ("weakref.finalize", "znni.pytorch.compiled.Compiled.keep"):
            with self.held(), mock.patch(name, side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
                self.compile()
            self.assertIsNotNone(self.process.returncode)
            self.assertEqual(self.left(), [])

    @contextlib.contextmanager
    def held(self, error=None):
        """Keeps the process of the daemon that starts, and raises `error` as soon as it has."""
        enter = PrivateDaemon.__enter__

        def entered(daemon):
            enter(daemon)
            self.process = daemon.process
            if error:
                raise error
            return daemon

        with mock.patch.object(PrivateDaemon, "__enter__", entered):
            yield

    def test_a_star_leaves_what_python_has(self):
        names = {}
        exec("from znni import *", names)
        self.assertIs(names["Compiled"], znni.Compiled)
        self.assertNotIn("compile", names)

    def test_networks_that_it_stands_for(self):
        module = same(weights={"w": Tensor(np.zeros(3, np.float32))})
        fast = self.compile(module)
        for network in (None, fast, module):
            fast.check_network(network)
        with self.assertRaisesRegex(znni.InvalidError, "^network: same found, expected None, or the same that was"):
            fast.check_network(same())
        module.weights["w"].array[0] = 1
        with self.assertRaisesRegex(znni.InvalidError, "^network: the weights of same have changed since"):
            fast.check_network(module)


if __name__ == "__main__":
    unittest.main()
