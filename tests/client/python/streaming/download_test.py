"""Messages of an output."""

import tracemalloc
import unittest

import numpy as np
from znni import wire
from znni.errors import Error
from znni.streaming.download import Download

SHAPE = (2, 3, 4, 5)
PLANE = 2 * 4 * 5 * 2  # bytes


class DownloadTest(unittest.TestCase):
    def setUp(self):
        self.output = np.arange(2 * 3 * 4 * 5, dtype=np.float16).reshape(3, 2, 4, 5)  # [Z, C, Y, X]
        self.written = []

    def download(self, planes=0):
        return Download(SHAPE, np.dtype("<f2"), "FP16", planes, lambda z, p: self.written.append((z, p.copy())))

    def accepted(self, channels=2, x=5, datatype="FP16"):
        return wire.VolumeResponse(
            accepted=wire.VolumeAccepted(channels=channels, extent=wire.Extent(z=3, y=4, x=x), datatype=datatype)
        )

    def chunk(self, offset, stop):
        return wire.VolumeResponse(chunk=wire.VolumeChunk(offset=offset, data=self.output.tobytes()[offset:stop]))

    def test_planes_of_chunks_of_any_size(self):
        for size in (1, 7, PLANE, PLANE + 3, 3 * PLANE):
            self.written = []
            download = self.download()
            download.take(self.accepted())
            for at in range(0, 3 * PLANE, size):
                download.take(self.chunk(at, at + size))
            download.take(wire.VolumeResponse(done=wire.VolumeDone(bytes=3 * PLANE)))
            counts = [len(planes) for _, planes in self.written]
            self.assertEqual([z for z, _ in self.written], [sum(counts[:i]) for i in range(len(counts))])
            np.testing.assert_array_equal(np.concatenate([p for _, p in self.written]), self.output)
            self.assertEqual((download.planes, download.done.bytes), (3, 3 * PLANE))

    def test_a_plane_of_many_chunks_is_copied_once(self):
        """What a chunk costs does not grow with what has come of its plane."""
        kept = []
        download = Download((1, 2, 3000, 4000), np.dtype("u1"), "UINT8", 0, lambda _, planes: kept.append(planes))
        download.take(
            wire.VolumeResponse(
                accepted=wire.VolumeAccepted(channels=1, extent=wire.Extent(z=2, y=3000, x=4000), datatype="UINT8")
            )
        )
        data = bytes(range(250)) * 40
        messages = [
            wire.VolumeResponse(chunk=wire.VolumeChunk(offset=at, data=data)) for at in range(0, 24000000, len(data))
        ]
        tracemalloc.start()
        for message in messages[:1100]:
            download.take(message)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(peak, 1.2 * 12000000)  # this plane alone
        for message in messages[1100:]:
            download.take(message)
        self.assertEqual(download.planes, 2)
        for plane in kept:
            np.testing.assert_array_equal(plane.ravel(), np.resize(np.frombuffer(data, np.uint8), 12000000))
        self.assertIsNot(kept[0].base, kept[1].base)

    def test_goes_on(self):
        download = self.download(planes=2)
        download.take(self.accepted())
        download.take(self.chunk(2 * PLANE, 3 * PLANE))
        self.assertEqual((self.written[0][0], download.first, download.planes), (2, 2, 3))
        np.testing.assert_array_equal(self.written[0][1], self.output[2:])

    def refused(self, words, *messages):
        download = self.download()
        with self.assertRaisesRegex(Error, words):
            for message in messages:
                download.take(message)

    def test_what_cannot_come(self):
        self.refused("offers an output of 3 x 3x4x5 FP16, expected 2 x 3x4x5 FP16", self.accepted(channels=3))
        self.refused("3x4x6", self.accepted(x=6))
        self.refused("FP32", self.accepted(datatype="FP32"))
        self.refused("before it accepted", self.chunk(0, 1))
        self.refused("byte 5 found, expected byte 1", self.accepted(), self.chunk(0, 1), self.chunk(5, 6))
        more = wire.VolumeResponse(chunk=wire.VolumeChunk(offset=0, data=b"0" * (3 * PLANE + 1)))
        self.refused("more than the accepted", self.accepted(), more)
        done = wire.VolumeResponse(done=wire.VolumeDone())
        self.refused("after 1 of 3 output planes", self.accepted(), self.chunk(0, PLANE + 1), done)


if __name__ == "__main__":
    unittest.main()
