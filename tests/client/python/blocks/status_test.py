"""Status and verification."""

import pathlib
import shutil
from unittest import mock

from job_case import JobCase
from znni.blocks.coarser import make_coarser
from znni.blocks.grid import Shard
from znni.blocks.marks import Marks
from znni.blocks.status import status_of, verify
from znni.errors import NotFoundError
from znni.pyramid import halvings


class StatusTest(JobCase):
    def test_counts(self):
        spec = self.plan()
        before = status_of(spec)
        self.assertEqual((before.blocks, before.done, before.missing, before.seconds_left), (6, 0, 6, None))
        self.run_shard(spec, Shard(0, 2))
        spec.marks.fail(5, "no turn")
        after = status_of(spec)
        self.assertEqual((after.done, after.missing, after.skipped, after.failed), (3, 3, 0, {5: "no turn"}))
        self.assertAlmostEqual(after.seconds_left, after.seconds)

    def verify(self, spec, repair=False):
        return verify(spec, repair, self.said.append)

    def test_missing_and_damaged_blocks_are_found(self):
        spec = self.plan()
        self.run_shard(spec, Shard(0, 1))
        self.assertEqual(self.verify(spec), ([], []))
        spec.marks.forget(3)
        chunks = sorted(
            path
            for path in pathlib.Path(self.output, "0").rglob("*")
            if path.is_file() and path.name not in (".zarray", ".zattrs", "zarr.json")
        )
        self.assertEqual(len(chunks), 6)
        chunks[0].unlink()  # reads as zeros
        chunks[1].write_bytes(chunks[1].read_bytes()[:100])
        self.assertEqual(self.verify(spec), ([3], [0, 1]))
        self.assertEqual(self.verify(spec, repair=True), ([3], [0, 1]))
        self.assertEqual(self.verify(spec), ([0, 1, 3], []))
        self.run_shard(spec, Shard(0, 1))
        self.assertEqual(self.verify(spec), ([], []))
        self.assertTrue((self.found() == self.volume).all())

    def test_a_repair_takes_the_coarser_resolutions_away(self):
        self.enterContext(mock.patch.object(halvings, "MOST", 64))
        self.assertFalse(status_of(self.plan()).lacks_coarser)
        self.output = str(self.folder / "out.ome.zarr")
        spec = self.plan()
        self.assertTrue(status_of(spec).lacks_coarser)
        self.run_shard(spec, Shard(0, 1))
        make_coarser(spec)
        self.verify(spec, repair=True)
        self.assertFalse(status_of(spec).lacks_coarser)
        next(path for path in pathlib.Path(self.output, "0").rglob("*") if path.stat().st_size > 5000).unlink()
        self.verify(spec)
        self.assertFalse(status_of(spec).lacks_coarser)
        self.verify(spec, repair=True)
        self.assertTrue(status_of(spec).lacks_coarser)

    def test_a_repair_that_is_interrupted_leaves_no_old_resolutions(self):
        self.enterContext(mock.patch.object(halvings, "MOST", 64))
        self.output = str(self.folder / "out.ome.zarr")
        spec = self.plan()
        self.run_shard(spec, Shard(0, 1))
        make_coarser(spec)
        next(p for p in pathlib.Path(self.output, "0").rglob("*") if p.stat().st_size > 5000).unlink()
        forget = Marks.forget

        def interrupted(marks, number):
            forget(marks, number)
            raise KeyboardInterrupt

        with mock.patch.object(Marks, "forget", interrupted), self.assertRaises(KeyboardInterrupt):
            self.verify(spec, repair=True)
        self.run_shard(spec, Shard(0, 1))
        self.assertTrue(status_of(spec).lacks_coarser)

    def test_an_output_that_is_gone(self):
        spec = self.plan()
        shutil.rmtree(self.output)
        for look in (lambda: status_of(spec), lambda: self.verify(spec)):
            with self.assertRaisesRegex(NotFoundError, "out.zarr: there is no zarr array or group"):
                look()


if __name__ == "__main__":
    import unittest

    unittest.main()
