"""libznni_conv.so of the installed package through ctypes, on arrays of NumPy."""

import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np
import znni
from conv_case import distance, forward, gradients, needs_library
from znni.errors import InvalidError, NotFoundError, OverBudgetError
from znni.pytorch import conv_library
from znni.pytorch.conv_library import Convolution, ConvShape, Work

BOUND = 1e-5
PLENTY = 1 << 32


def aligned(size):
    """Returns bytes that begin at a multiple of 64."""
    block = np.zeros(size + 64, np.uint8)
    return block[-block.ctypes.data % 64 :][:size]


def address(array):
    """Returns where an array begins; 0 for one of no bytes."""
    return array.ctypes.data if array.size else 0


def library_threads():
    """Returns how many threads of the library this process has. Threads give themselves their names when they start."""
    names = []
    for file in pathlib.Path("/proc/self/task").glob("*/comm"):
        try:
            names.append(file.read_text())
        except OSError:
            pass  # ended since
    return sum(name.startswith("znni-cpu-") for name in names)


# Works of some milliseconds, one after the other, until the process ends amid one.
ENDS_EARLY = """
import threading
import numpy as np
from znni.pytorch.conv_library import ConvShape, Work
from znni.pytorch.conv_plans import of_process
begun = threading.Event()
x, weight = np.zeros((1, 32, 64, 64, 64), np.float32), np.zeros((32, 32, 5, 5, 5), np.float32)
output = np.empty((1, 32, 60, 60, 60), np.float32)
def compute():
    while True:
        shape = ConvShape(1, 32, 32, (64, 64, 64), (5, 5, 5))
        of_process().run(Work.FORWARD, shape, 2, 0, x.ctypes.data, weight.ctypes.data, 0, output.ctypes.data)
        begun.set()
threading.Thread(target=compute, daemon=True).start()
begun.wait()
"""


@needs_library
class ConvLibraryTest(unittest.TestCase):
    def check(self, shape, threads, mem, seed):
        """Compares all works with their definition."""
        rng = np.random.default_rng(seed)
        batch, inputs, outputs, extent, kernel = shape
        small = tuple(n - k + 1 for n, k in zip(extent, kernel))
        x = rng.standard_normal((batch, inputs, *extent), np.float32)
        weight = rng.standard_normal((outputs, inputs, *kernel), np.float32)
        bias = rng.standard_normal(outputs, np.float32)
        gradient = rng.standard_normal((batch, outputs, *small), np.float32)
        convolution = Convolution(shape, threads, mem)
        output, of_x, of_weight, of_bias = map(np.empty_like, (gradient, x, weight, bias))
        rooms = [aligned(convolution.workspace_bytes(work)) for work in Work]
        convolution.forward(*map(address, (x, weight, bias, output, rooms[0])))
        convolution.input_gradient(*map(address, (gradient, weight, of_x, rooms[1])))
        convolution.weight_gradient(*map(address, (gradient, x, of_weight, of_bias, rooms[2])))
        self.assertLess(distance(output, forward(x.astype(float), weight.astype(float), bias)), BOUND)
        exact = gradients(x.astype(float), weight.astype(float), gradient.astype(float))
        for found, wanted in zip((of_x, of_weight, of_bias), exact):
            self.assertLess(distance(found, wanted), BOUND)

    def test_works_are_those_of_the_definition(self):
        """Of random shapes, some with one tap or one voxel along an axis."""
        rng = np.random.default_rng(7)
        for seed in range(12):
            kernel = tuple(map(int, rng.integers(1, 6, 3)))
            extent = tuple(k + int(more) for k, more in zip(kernel, rng.integers(0, 9, 3)))
            batch, inputs, outputs = (int(rng.integers(1, most)) for most in (3, 20, 20))
            shape = ConvShape(batch, inputs, outputs, extent, kernel)
            with self.subTest(shape=shape):
                self.check(shape, seed % 3 + 1, (0, PLENTY)[seed % 2], seed)

    def test_a_limit_is_kept(self):
        """Less memory takes another way, with the same results."""
        shape = ConvShape(1, 32, 32, (14, 14, 14), (5, 5, 5))
        ample = Convolution(shape, 1, PLENTY).workspace_bytes(Work.WEIGHT_GRADIENT)
        self.assertGreater(ample, 0)
        tight = Convolution(shape, 1, ample - 1)
        self.assertLess(tight.workspace_bytes(Work.WEIGHT_GRADIENT), ample)
        self.check(shape, 1, ample - 1, 1)

    def test_each_work_says_how_it_is_computed(self):
        convolution = Convolution(ConvShape(1, 2, 3, (5, 5, 5), (2, 2, 2)), 1)
        self.assertIn("cpu.conv.", convolution.describe(Work.FORWARD))
        self.assertIn("cpu.grad.", convolution.describe(Work.WEIGHT_GRADIENT))

    def test_what_is_wrong_is_an_error_in_one_line(self):
        for threads in (0, -1, 1 << 31, (1 << 32) + 1):
            with self.assertRaisesRegex(InvalidError, f"threads: {threads} found, expected 1 to 2147483647"):
                Convolution(ConvShape(1, 2, 3, (5, 5, 5), (2, 2, 2)), threads)
        for mem in (-1, 1 << 63, (1 << 64) + 1):
            with self.assertRaisesRegex(InvalidError, f"mem: {mem} found, expected 0 to 9223372036854775807"):
                Convolution(ConvShape(1, 2, 3, (5, 5, 5), (2, 2, 2)), 1, mem)
        with self.assertRaises(InvalidError) as caught:
            Convolution(ConvShape(1, 2, 3, (5, 5, 5), (6, 2, 2)), 1)
        self.assertNotIn("\n", str(caught.exception))
        convolution = Convolution(ConvShape(1, 2, 3, (5, 5, 5), (2, 2, 2)), 1)
        with self.assertRaisesRegex(InvalidError, "input is NULL: give its elements"):
            convolution.forward(0, 64, 64, 64, 64)

    def test_what_does_not_fit_is_over_budget(self):
        with self.assertRaisesRegex(OverBudgetError, "needs a workspace of .*, and the limit is 1 B: raise it"):
            Convolution(ConvShape(1, 32, 32, (14, 14, 14), (5, 5, 5)), 1, 1)

    def test_it_is_freed_with_its_object(self):
        """And its threads with it, which no other test has as many of. So in the child of a fork, which has none."""
        before = library_threads()
        made = Convolution(ConvShape(1, 2, 3, (5, 5, 5), (2, 2, 2)), 7)
        self.wait_until(lambda: library_threads() > before)
        child = os.fork()
        if child == 0:
            del made
            gc.collect()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        del made
        gc.collect()
        self.wait_until(lambda: library_threads() == before)

    def wait_until(self, holds):
        """Fails if it does not hold within a minute."""
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_a_process_ends_while_a_daemon_thread_computes(self):
        done = subprocess.run([sys.executable, "-c", ENDS_EARLY], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class FindLibraryTest(unittest.TestCase):
    def test_the_environment_names_another(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
            other = pathlib.Path(folder) / "other.so"
            os.environ["ZNNI_CONV_LIBRARY"] = str(other)
            with self.assertRaisesRegex(NotFoundError, "ZNNI_CONV_LIBRARY: .*other.so: there is no such file"):
                conv_library.find_library()
            other.write_text("no library")
            self.assertEqual(conv_library.find_library(), str(other.resolve()))
            with self.assertRaisesRegex(InvalidError, "other.so: cannot be loaded"):
                Convolution(ConvShape(1, 1, 1, (1, 1, 1), (1, 1, 1)), 1)

    def test_a_package_without_one_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
            os.environ.pop("ZNNI_CONV_LIBRARY", None)
            with (
                mock.patch.object(conv_library, "__file__", str(pathlib.Path(folder) / "pytorch/conv_library.py")),
                self.assertRaisesRegex(NotFoundError, "libznni_conv.so: is missing: build the target znni_conv"),
            ):
                conv_library.find_library()

    def test_a_processor_that_is_too_old_is_refused(self):
        """Before anything of the library runs."""
        with tempfile.TemporaryDirectory() as folder:
            cpuinfo = pathlib.Path(folder) / "cpuinfo"
            self.enterContext(mock.patch.object(conv_library, "_CPUINFO", str(cpuinfo)))
            for machine, flags, message in (
                ("x86_64", "fpu bmi1 avx fma avx512f", "cpuinfo: no avx2, bmi2: libznni_conv.so needs a processor of"),
                ("x86_64", "fpu avx2 fma bmi2 bmi1", "nowhere.so: cannot be loaded"),
                ("aarch64", "fpu", "nowhere.so: cannot be loaded"),
            ):
                cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: spectre_v1\n")
                with (
                    mock.patch("platform.machine", return_value=machine),
                    self.assertRaisesRegex(InvalidError, message),
                ):
                    conv_library._load("nowhere.so")
            cpuinfo.unlink()
            with self.assertRaisesRegex(InvalidError, "nowhere.so: cannot be loaded"):
                conv_library._load("nowhere.so")

    @needs_library
    def test_the_package_has_one(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("ZNNI_CONV_LIBRARY", None)
            self.assertEqual(
                conv_library.find_library(), str(pathlib.Path(znni.__file__).resolve().with_name("libznni_conv.so"))
            )


if __name__ == "__main__":
    unittest.main()
