"""Types of voxels."""

import unittest

import numpy as np
from znni.errors import InvalidError
from znni.voxel_type import as_output, input_type, output_type, wire_name


class VoxelTypeTest(unittest.TestCase):
    def test_names(self):
        for dtype, name in ((np.uint8, "UINT8"), (">u2", "UINT16"), ("float16", "FP16"), (np.float32, "FP32")):
            self.assertEqual(wire_name(input_type(dtype, "v")), name)

    def test_sent_little_endian(self):
        self.assertEqual(input_type(">f4", "v"), np.dtype("<f4"))

    def test_what_is_not_sent(self):
        for dtype in (np.int16, np.float64, bool, "torch.uint8"):
            with self.assertRaisesRegex(InvalidError, "^v: voxels of type .* found, expected uint8, uint16, float16"):
                input_type(dtype, "v")

    def test_outputs(self):
        self.assertEqual(output_type("uint8"), np.uint8)
        for dtype in ("uint16", "int8", "nonsense", np.float64):
            with self.assertRaisesRegex(InvalidError, "expected one of float32, float16, uint8"):
                output_type(dtype)

    def test_voxels_as_outputs(self):
        values = np.float32([-1, 0, 0.00196, 0.00197, 0.5, 1, 1.5, np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal(as_output(values, np.dtype("u1")), [0, 0, 0, 1, 128, 255, 255, 255, 0, 0])
        halves = as_output(np.float32([0.1, 70000]), np.dtype("<f2"))
        self.assertEqual((halves.dtype, halves[0], halves[1]), (np.float16, np.float16(0.1), np.inf))
        self.assertIs(as_output(values, np.dtype("<f4")), values)


if __name__ == "__main__":
    unittest.main()
