"""Requests of a stream."""

import unittest
import weakref

import numpy as np
from znni import wire
from znni.streaming.upload import CHUNK_BYTES, Upload

HEADER = wire.VolumeHeader(model_name="net")


class UploadTest(unittest.TestCase):
    def test_header_then_chunks_without_gaps(self):
        slabs = [np.arange(n, dtype=np.uint8).reshape(1, 1, 1, n) for n in (5, 200)]
        slabs.append(np.ones((2, 1, 700, 1000), np.uint8))
        requests = list(Upload(HEADER, iter(slabs), 70))
        self.assertEqual(requests[0].header.model_name, "net")
        offset = 70
        for request in requests[1:]:
            self.assertEqual(request.chunk.offset, offset)
            self.assertLessEqual(len(request.chunk.data), CHUNK_BYTES)
            offset += len(request.chunk.data)
        data = b"".join(request.chunk.data for request in requests[1:])
        self.assertEqual(data, b"".join(slab.tobytes() for slab in slabs))

    def test_nothing_is_read_before_it_is_asked_for(self):
        read = []
        upload = Upload(HEADER, (read.append(n) or np.zeros((1, 1, 1, 1), np.uint8) for n in range(9)), 0)
        next(upload)
        self.assertEqual(read, [])
        next(upload)
        self.assertEqual(read, [0])

    def test_a_slab_is_gone_before_the_next_is_read(self):
        held = []

        def slabs():
            for _ in range(3):
                self.assertFalse(any(slab() is not None for slab in held))
                slab = np.zeros((1, 1, 1, 9), np.uint8)
                held.append(weakref.ref(slab))
                yield slab
                del slab

        upload = Upload(HEADER, slabs(), 0)
        self.assertEqual(len(list(upload)), 4)
        self.assertIsNone(upload.error)

    def test_an_error_of_reading_cancels_the_call(self):
        def slabs():
            yield np.zeros((1, 1, 1, 1), np.uint8)
            raise OSError("disk")

        cancelled = []
        upload = Upload(HEADER, slabs(), 0)
        upload.cancel = lambda: cancelled.append(True)
        self.assertEqual(len(list(upload)), 2)
        self.assertEqual((str(upload.error), cancelled), ("disk", [True]))

    def test_closed(self):
        upload = Upload(HEADER, iter([np.zeros((1, 1, 1, 1), np.uint8)]), 0)
        upload.close()
        self.assertEqual(list(upload), [])


if __name__ == "__main__":
    unittest.main()
