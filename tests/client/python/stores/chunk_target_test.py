"""Outputs in folders of chunks."""

import pathlib
import tempfile
import unittest

import numpy as np
from znni.errors import InvalidError
from znni.stores.chunk_target import ChunkTarget
from znni.stores.seam import OutputFacts
from znni.stores.tensors import TensorArray, arranged, open_store


class OneBlock(ChunkTarget):
    """Writes arrays of N5."""

    def _open(self, place):
        metadata = {
            "dimensions": self._facts.shape[::-1],
            "blockSize": [*self.chunk[::-1], 1],
            "dataType": "uint8",
            "compression": {"type": "raw"},
        }
        store = open_store({"driver": "n5", "kvstore": place.kvstore, "metadata": metadata}, "o")
        return TensorArray(arranged(store, (3, 2, 1, 0)), (1, *self.chunk), "o")

    def _description(self):
        return "about.json", {"a": 1}


class ChunkTargetTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.facts = OutputFacts((2, 200, 4, 5), np.dtype("u1"), 4, None, None, (0, 0, 0), {})

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def test_what_describes_it_is_written_last(self):
        target = OneBlock(str(self.folder / "o"), self.facts, False)
        self.assertEqual(
            (target.chunk, target.depth, target.rows, target.folder), ((128, 4, 5), 128, 4, str(self.folder))
        )
        target.begin()
        target.write((0, 0, 0), np.ones((2, 128, 4, 5), "u1"))
        self.assertEqual(self.files(), [f"o.partial/0/0/0/{c}" for c in (0, 1)])
        target.finish()
        self.assertEqual(self.files(), ["o/0/0/0/0", "o/0/0/0/1", "o/about.json"])

    def test_zeros_are_written_too(self):
        target = OneBlock(str(self.folder / "o"), self.facts, False)
        target.begin()
        target.write((0, 0, 0), np.zeros((2, 200, 4, 5), "u1"))
        target.finish()
        self.assertEqual(len(self.files()), 5)

    def test_discarded(self):
        target = OneBlock(str(self.folder / "o"), self.facts, False)
        target.discard()
        target.begin()
        target.write((0, 0, 0), np.ones((2, 128, 4, 5), "u1"))
        target.discard()
        self.assertEqual(self.files(), [])

    def test_is_there_already(self):
        (self.folder / "c/o").mkdir(parents=True)
        with self.assertRaisesRegex(InvalidError, "o: is there already"):
            OneBlock(str(self.folder / "c/o"), self.facts, False, str(self.folder / "c"))
        OneBlock(str(self.folder / "c/x/y/o"), self.facts, False, str(self.folder / "c")).begin()
        self.assertTrue((self.folder / "c/x/y").is_dir())


if __name__ == "__main__":
    unittest.main()
