"""Outputs that are not complete."""

import pathlib
import tempfile
import unittest

from znni.errors import InvalidError
from znni.stores.partial import Partial
from znni.stores.partials import partial_of


class PartialsTest(unittest.TestCase):
    def test_folders_and_addresses(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.assertIs(type(partial_of(f"{folder}/o", False)), Partial)
        self.assertIs(type(partial_of(f"{folder}/c/o", False, f"{folder}/c")), Partial)
        with self.assertRaisesRegex(InvalidError, "http://h/o.zarr: is read only"):
            partial_of("http://h/o.zarr", False)


if __name__ == "__main__":
    unittest.main()
