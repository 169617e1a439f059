"""Planes of parts of which less than all is kept."""

import dataclasses
import random
import unittest

import numpy as np
from znni.box import Box
from znni.job import plan_job
from znni.model import Model
from znni.stores.array import ArraySource, ArrayTarget
from znni.stores.seam import OutputFacts
from znni.streaming.kept_writer import KeptWriter
from znni.streaming.parts import cut

MODEL = Model("net", "1", True, 1, 2, (1, 1, 1), True, {})


class KeptWriterTest(unittest.TestCase):
    def test_what_is_kept_comes_from_all_parts(self):
        draw = random.Random(3)
        for _ in range(30):
            streamed = tuple(draw.randint(1, 9) for _ in range(3))
            start = tuple(draw.randrange(n) for n in streamed)
            stop = tuple(draw.randint(a + 1, n) for a, n in zip(start, streamed))
            whole = plan_job(MODEL, ArraySource(np.zeros(streamed, np.uint8), "volume"), None, "none", "float32")
            job = dataclasses.replace(whole, kept=Box(start, stop))
            z, y, x = (slice(a, b) for a, b in zip(start, stop))
            for channels in (None, (0,), (1,), (1, 0)):
                job = dataclasses.replace(job, channels=channels)
                found = self.written(job, [draw.randint(1, 9) for _ in range(3)], draw)
                np.testing.assert_array_equal(found, self.voxels(job)[list(channels or (0, 1)), z, y, x])

    def test_a_mirrored_job_is_mirrored_back(self):
        draw = random.Random(5)
        for axes in ((0,), (0, 2)):
            volume = ArraySource(np.zeros((7, 8, 9), np.uint8), "volume")
            whole = plan_job(MODEL, volume, "1:6,:,3:9", "none", "float32")
            job = next(each for each in dataclasses.replace(whole, averaged=axes).passes() if each.mirror.axes == axes)
            found = self.written(job, [2, 3, 4], draw)
            z, y, x = (slice(a, b) for a, b in zip(*job.kept))
            np.testing.assert_array_equal(found, np.flip(self.voxels(job)[:, z, y, x], [axis + 1 for axis in axes]))

    @staticmethod
    def voxels(job):
        """Returns all that is streamed."""
        return np.arange(2 * np.prod(job.streamed), dtype=np.float32).reshape(2, *job.streamed) + 1

    def written(self, job, part, draw):
        """Writes all parts, a few planes at a time, some of them twice, as a stream that goes on brings them."""
        output = np.zeros((job.output_channels, *job.output), np.float32)
        target = ArrayTarget(output, OutputFacts(output.shape, job.dtype, 4, None, None, (0, 0, 0), {}))
        for box in cut(job.streamed, part):
            writer = KeptWriter(target, box, job)
            planes = self.voxels(job)[(slice(None), *(slice(a, b) for a, b in zip(*box)))].transpose(1, 0, 2, 3)
            done = 0
            while done < len(planes):
                first, done = draw.randint(0, done), min(done + draw.randint(1, 3), len(planes))
                writer.write(first, planes[first:done])
            writer.flush()
        return output


if __name__ == "__main__":
    unittest.main()
