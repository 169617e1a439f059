"""What the package has by its name alone."""

import importlib
import operator
import subprocess
import sys
import unittest
from unittest import mock

import znni

# As a program of its own, in which nothing has been imported before.
PROGRAM = """
import sys, znni
assert not {"distributed", "monai", "torch"} & sys.modules.keys(), "what is not used is not imported"
print(znni.dask.predict.__name__, znni.dask is sys.modules["znni.dask"])
"""


class InitTest(unittest.TestCase):
    def test_modules_for_other_packages_are_there_when_they_are_named(self):
        ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
        self.assertEqual((ran.stdout, ran.stderr), ("predict True\n", ""))

    def test_a_package_that_is_missing_is_named(self):
        for name, package, words in (
            ("dask", "distributed", "znni.dask needs Dask: pip install 'znni\\[dask\\]'"),
            ("monai", "monai", "znni.monai needs MONAI: pip install 'znni\\[monai\\]'"),
            ("torch", "torch", "znni.torch needs PyTorch: pip install 'znni\\[torch\\]'"),
        ):
            with mock.patch.dict(sys.modules, {package: None}), mock.patch.dict(vars(znni)):
                sys.modules.pop(f"znni.{name}", None)
                vars(znni).pop(name, None)
                with self.assertRaisesRegex(ImportError, f"^{words}$"):
                    getattr(znni, name)

    def test_other_names_are_none(self):
        self.assertFalse(hasattr(znni, "tensorflow"))
        with self.assertRaisesRegex(AttributeError, "^module 'znni' has no attribute 'tensorflow'$"):
            operator.attrgetter("tensorflow")(znni)
        with self.assertRaises(ImportError):
            importlib.import_module("znni.tensorflow")

    def test_all_names_are_there(self):
        self.assertEqual([name for name in znni.__all__ if not hasattr(znni, name)], [])


if __name__ == "__main__":
    unittest.main()
