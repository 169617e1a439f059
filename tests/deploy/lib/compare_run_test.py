"""What deploy/compare measures of one peer, without PyTorch. Usage: compare_run_test.py FOLDER-OF-COMPARE_RUN."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np

sys.path.insert(0, sys.argv.pop(1))
import compare_peers  # found where the argument says
import compare_run
import compare_task


class TaskTest(unittest.TestCase):
    def test_windows_cover_the_output_with_as_few_as_the_largest_would(self):
        random = np.random.default_rng(3)
        for _ in range(200):
            window, margin = int(random.integers(48, 128)), 40
            output = int(random.integers(1, 300))
            fitted = compare_task.fitted_window(output + margin, window, margin)
            self.assertLessEqual(fitted, window)
            count = -(-output // (window - margin))
            self.assertEqual(-(-output // (fitted - margin)), count)
            self.assertLess((fitted - margin - 1) * count, output)  # none is smaller

    def test_windows_that_pad_begin_at_multiples_of_the_stride(self):
        for window in (64, 100, 128, 200):
            fitted = compare_task.fitted_window(192, window, 0)
            self.assertLessEqual(fitted, window)
            self.assertEqual((fitted * 3 // 4) % 16, 0)

    def test_reads_the_volume_of_its_network(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(pathlib.Path(folder) / "boundary.npy", np.zeros((96, 96, 96), np.float32))
            task = compare_task.Task("boundary", pathlib.Path(folder), 80, 1 << 30, 1)
            self.assertEqual((task.margin, task.volume.shape, task.fitted), (40, (96, 96, 96), 68))


class MeasureTest(unittest.TestCase):
    def task(self):
        """Returns a task whose files are not there."""
        return compare_task.Task("unet", pathlib.Path("/folder"), 64, 1 << 30, 1)

    def test_differences_are_those_of_the_boxes(self):
        random = np.random.default_rng(4)
        output = random.random((2, 9, 8, 7))
        starts = np.array([[0, 1, 2], [5, 4, 3]])
        value = np.stack([output[:, z : z + 4, y : y + 4, x : x + 4] for z, y, x in starts])
        self.assertEqual(
            compare_run.differences(output, {"start": starts, "value": value}),
            {"difference": 0.0, "root_mean_square": 0.0},
        )
        value[1, 1, 3, 2, 0] += 0.5
        found = compare_run.differences(output, {"start": starts, "value": value})
        self.assertEqual(found["difference"], 0.5)
        self.assertAlmostEqual(found["root_mean_square"], 0.5 / value.size**0.5)

    def test_an_output_without_channels_is_one_of_one_channel(self):
        output = np.arange(27.0).reshape(3, 3, 3)
        exact = {"start": np.array([[1, 1, 1]]), "value": output[None, None, 1:, 1:, 1:] - 1}
        self.assertEqual(compare_run.differences(output, exact)["difference"], 1.0)

    def test_an_output_that_is_too_small_is_refused(self):
        exact = {"start": np.array([[1, 0, 0]]), "value": np.zeros((1, 1, 3, 3, 3))}
        with self.assertRaisesRegex(SystemExit, "does not hold"):
            compare_run.differences(np.zeros((1, 3, 3, 3)), exact)

    def test_the_second_call_is_measured(self):
        outputs = iter([1, 2])
        figures, output = compare_run.measure(lambda: next(outputs))
        self.assertEqual(int(output), 2)
        self.assertEqual(set(figures), {"seconds", "processor_seconds", "peak_bytes"})
        self.assertGreater(figures["peak_bytes"], 1 << 20)

    def test_the_work_and_memory_of_children_and_daemons_count(self):
        code = "x = bytearray(200 << 20); print(1, flush=True); input()"
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        own = compare_run.peak_bytes(os.getpid()) / 2
        self.assertGreater(compare_run.peak_bytes(child.pid), own + (150 << 20))
        self.assertGreaterEqual(compare_run.processor_seconds(child.pid), compare_run.ticks_of(child.pid))
        before = compare_run.processor_seconds(None)
        child.communicate("\n", timeout=60)
        self.assertGreater(compare_run.processor_seconds(None), before)  # a finished child
        self.assertGreater(compare_run.peak_bytes(None), 200 << 20)

    def test_what_a_peer_cannot_do_is_told(self):
        def refuse(task):
            raise NotImplementedError("needs a net that pads\nand more")

        compare_peers.PEERS["znni.refusing"] = refuse
        self.addCleanup(compare_peers.PEERS.pop, "znni.refusing")
        self.assertEqual(compare_run.run("znni.refusing", self.task()), {"refusal": "needs a net that pads"})

    def test_our_daemon_has_the_plain_environment(self):
        os.environ["MALLOC_TOP_PAD_"] = "65536"
        compare_run.prepare("znni", self.task())
        self.assertNotIn("MALLOC_TOP_PAD_", os.environ)
        self.assertEqual(os.environ["XDG_STATE_HOME"], "/folder/state/znni")  # no plans of another peer


class LinesTest(unittest.TestCase):
    def test_lines_are_those_of_code(self):
        def function():
            """Has a text
            of two lines."""
            # and a comment

            return 1

        self.assertEqual(compare_peers.lines_of(function), 2)

    def test_helpers_count(self):
        for name, function in compare_peers.PEERS.items():
            with self.subTest(name):
                self.assertGreaterEqual(compare_peers.lines_of_code(name), compare_peers.lines_of(function))
        self.assertGreater(compare_peers.lines_of_code("chunkflow"), compare_peers.lines_of(compare_peers.chunkflow))

    def test_margins_are_cut_on_both_sides(self):
        volume = np.arange(6**3).reshape(1, 6, 6, 6)
        np.testing.assert_array_equal(compare_peers.cropped(volume, 4), volume[:, 2:4, 2:4, 2:4])
        self.assertEqual(compare_peers.cropped(volume, 0).shape, volume.shape)

    def test_nnunet_refuses_nets_that_do_not_pad(self):
        sys.modules["torch"] = sys.modules.get("torch") or types.ModuleType("torch")
        with self.assertRaisesRegex(NotImplementedError, "must pad"):
            compare_peers.nnunet(compare_task.Task("boundary", pathlib.Path("."), 64, 0, 1))


if __name__ == "__main__":
    unittest.main()
