"""Arrays of several kinds."""

import unittest

import numpy as np
from znni.box import Box
from znni.errors import InvalidError
from znni.scaling import Scaling
from znni.stores.array import ArraySource, ArrayTarget, NewArrayTarget
from znni.stores.seam import OutputFacts

BOX = Box((1, 0, 2), (3, 2, 5))


class Sliced:
    """An array that knows nothing but slices."""

    def __init__(self, array):
        self.shape, self.dtype, self._array = array.shape, array.dtype, array

    def __getitem__(self, index):
        return self._array[index]


def facts(channels=2, ndim=4, dtype="<f4"):
    return OutputFacts((channels, 3, 4, 5), np.dtype(dtype), ndim, None, None, (0, 0, 0), {})


class ArraySourceTest(unittest.TestCase):
    def test_boxes(self):
        volume = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
        expected = volume[:, 1:3, 0:2, 2:5]
        for array in (volume, volume[None], Sliced(volume)):
            np.testing.assert_array_equal(ArraySource(array, "v").read(BOX), expected)
        np.testing.assert_array_equal(ArraySource(volume[1], "v").read(BOX), expected[1:])

    def test_facts(self):
        source = ArraySource(np.zeros((1, 2, 3, 4, 5), ">u2"), "v")
        self.assertEqual((source.shape, source.ndim, source.dtype), ((2, 3, 4, 5), 5, np.dtype("<u2")))
        self.assertEqual((source.depth, source.geometry), (1, None))

    def test_all_types_of_numbers_in_either_byte_order(self):
        """What float32 holds exactly is read exactly, float64 rounded to the nearest."""
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"):
            info = np.iinfo(kind) if kind[0] in "iu" else np.finfo(kind)
            ends = [max(int(info.min), -(1 << 24)), min(int(info.max), 1 << 24)] if kind[0] in "iu" else [-7.5, 65504]
            volume = np.resize([*ends, 0, 1, 100, *range(1, 60)], (3, 4, 5)).astype(kind)
            for order in "<>":
                stored = volume.astype(np.dtype(kind).newbyteorder(order))
                for array in (stored, Sliced(stored), stored[None, None]):
                    source = ArraySource(array, "v")
                    found = source.read(Box((0, 0, 0), (3, 4, 5)))
                    self.assertEqual(found.dtype, source.dtype)
                    self.assertEqual(source.dtype, kind if kind in ("u1", "u2", "f2", "f4") else "<f4")
                    self.assertEqual(
                        [[int(n) for n in plane.flat] for plane in found[0]],
                        [[int(n) for n in plane.flat] for plane in volume],
                    )
        rounded = ArraySource(np.full((3, 4, 5), 0.1), "v").read(Box((0, 0, 0), (1, 1, 1)))
        self.assertEqual(rounded[0, 0, 0, 0], np.float32(0.1))

    def test_rescaled(self):
        volume = np.arange(120, dtype="i2").reshape(2, 3, 4, 5)
        source = ArraySource(volume, "v")
        self.assertIsNone(source.scaling)
        source.rescale(Scaling(0.5, -3))
        self.assertEqual((source.dtype, source.scaling), (np.dtype("<f4"), (0.5, -3)))
        np.testing.assert_array_equal(source.read(BOX), volume[:, 1:3, 0:2, 2:5] / 2 - 3)

    def test_truth_values_are_0_and_1(self):
        volume = np.arange(60).reshape(3, 4, 5) % 3 == 0
        source = ArraySource(volume, "v")
        self.assertEqual(source.dtype, np.uint8)
        np.testing.assert_array_equal(source.read(Box((0, 0, 0), (3, 4, 5)))[0], volume.astype(np.uint8))

    def test_planes_that_are_stored_together(self):
        array = Sliced(np.zeros((3, 4, 5), "i4"))
        array.chunks = (2, 4, 5)
        self.assertEqual(ArraySource(array, "v").depth, 2)
        array.shards = (3, 4, 5)
        self.assertEqual(ArraySource(array, "v").depth, 3)

    def test_no_volume(self):
        for volume, words in (
            (3, "int found"),
            ([[1]], "list found"),
            (np.zeros((3, 4), np.uint8), "shape"),
            (np.zeros((3, 4, 5), complex), "complex128 found, expected whole or real numbers"),
            (np.zeros((3, 4, 5), "S2"), "S2 found"),
            (Sliced(np.zeros((3, 4, 5), object)), "object found"),
        ):
            with self.assertRaisesRegex(InvalidError, "^v: .*" + words):
                ArraySource(volume, "v")


class ArrayTargetTest(unittest.TestCase):
    def test_blocks(self):
        block = np.arange(2 * 2 * 2 * 3, dtype=np.float32).reshape(2, 2, 2, 3)
        for shape in ((2, 3, 4, 5), (1, 2, 3, 4, 5)):
            array = np.zeros(shape, np.float32)
            target = ArrayTarget(array, facts())
            target.begin()
            target.write(BOX.start, block)
            np.testing.assert_array_equal(array.reshape(2, 3, 4, 5)[:, 1:3, 0:2, 2:5], block)
            self.assertEqual(array.sum(), block.sum())
            self.assertIs(target.array, array)

    def test_one_channel_in_three_axes(self):
        array = np.zeros((3, 4, 5), np.float32)
        ArrayTarget(array, facts(channels=1)).write((0, 0, 0), np.ones((1, 3, 4, 5), np.float32))
        self.assertTrue((array == 1).all())

    def test_another_array(self):
        with self.assertRaisesRegex(InvalidError, r"^output: shape \(3, 4, 5\) found, expected \(2, 3, 4, 5\)"):
            ArrayTarget(np.zeros((3, 4, 5), np.float32), facts())
        with self.assertRaisesRegex(InvalidError, "^output: uint8 found, expected float32: dtype= names another"):
            ArrayTarget(np.zeros((2, 3, 4, 5), np.uint8), facts())

    def test_new_array(self):
        for ndim, shape in ((3, (2, 3, 4, 5)), (4, (2, 3, 4, 5)), (5, (1, 2, 3, 4, 5))):
            target = NewArrayTarget(facts(ndim=ndim))
            self.assertIsNone(target.array)
            target.begin()
            target.write((0, 0, 0), np.ones((2, 3, 4, 5), np.float32))
            target.finish()
            self.assertEqual((target.array.shape, target.array.min()), (shape, 1))


if __name__ == "__main__":
    unittest.main()
