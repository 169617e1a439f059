"""Arrays of which ranges are read, against NumPy."""

import math
import unittest
from unittest import mock

import numpy as np
from znni.errors import InvalidError
from znni.stores import range_array
from znni.stores.range_array import Moved, RangeArray, in_order


class File:
    """A file in memory that counts the bytes and the ranges that were read of it."""

    name = "v"

    def __init__(self, data):
        self.data, self.bytes, self.ranges = data, 0, 0

    def read_ranges(self, ranges):
        """Plays that of RemoteFile."""
        self.ranges += len(ranges)
        self.bytes += sum(end - begin for begin, end in ranges)
        return [self.data[begin:end] if end <= len(self.data) else None for begin, end in ranges]


def random_index(random, shape):
    """Returns ranges, and a number where there is one voxel."""
    index = []
    for n in shape:
        begin = int(random.integers(0, n))
        part = slice(begin, int(random.integers(begin + 1, n + 1)))
        index.append(random.choice([slice(None), part, slice(0, n)]) if random.integers(2) else part)
    return tuple(index)


class RangeArrayTest(unittest.TestCase):
    def test_parts_are_those_of_numpy(self):
        random = np.random.default_rng(1)
        for _ in range(300):
            shape = tuple(int(n) for n in random.integers(1, 7, random.integers(3, 6)))
            dtype = np.dtype(random.choice(["u1", "<u2", ">i4", "<f8"]))
            expected = random.integers(0, 100, shape).astype(dtype)
            offset = int(random.integers(0, 9))
            file = File(bytes(offset) + expected.tobytes())
            with mock.patch.object(range_array, "_WHOLE", int(random.choice([0, 1, 8, 40, 1 << 16]))):
                array = RangeArray(file, shape, dtype, offset)
            self.assertEqual((array.shape, array.dtype, array.file), (shape, dtype, file))
            index = random_index(random, shape)
            np.testing.assert_array_equal(array[index], expected[index])
            first = (int(random.integers(shape[0])), *index[1:])
            np.testing.assert_array_equal(array[first], expected[first])
            np.testing.assert_array_equal(array[index[:2]], expected[index[:2]])
            order = [int(i) for i in random.permutation(len(shape))]
            turned = expected.transpose(order)
            index = random_index(random, turned.shape)
            self.assertEqual(Moved(array, order).shape, turned.shape)
            np.testing.assert_array_equal(Moved(array, order)[index], turned[index])
            first = (int(random.integers(turned.shape[0])), *index[1:])
            np.testing.assert_array_equal(in_order(array, order)[first], turned[first])

    def test_what_is_read(self):
        shape = (4, 10, 20)
        file = File(bytes(math.prod(shape)))
        with mock.patch.object(range_array, "_WHOLE", 20):
            array = RangeArray(file, shape, np.dtype("u1"), 0)
        for index, ranges, count in (
            (np.s_[1:3, :, :], 1, 400),
            (np.s_[1:3, 2:5, :], 2, 120),
            (np.s_[1:3, 2:5, 4:6], 2, 120),
            (np.s_[2, 3:4, 0:1], 1, 20),
        ):
            file.bytes = file.ranges = 0
            array[index]
            self.assertEqual((file.ranges, file.bytes), (ranges, count))

    def test_its_own_order_is_itself(self):
        array = RangeArray(File(bytes(8)), (2, 2, 2), np.dtype("u1"), 0)
        self.assertIs(in_order(array, (0, 1, 2)), array)

    def test_a_file_that_becomes_shorter(self):
        with self.assertRaisesRegex(InvalidError, "^v: became shorter while it was read"):
            RangeArray(File(bytes(7)), (2, 2, 2), np.dtype("u1"), 0)[0:2, 0:2, 0:2]


if __name__ == "__main__":
    unittest.main()
