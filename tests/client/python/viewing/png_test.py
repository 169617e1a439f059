"""Grey pictures as PNG, read by another library."""

import io
import unittest

import numpy as np
from PIL import Image
from znni.viewing.png import encode


class PngTest(unittest.TestCase):
    def check(self, pixels):
        image = Image.open(io.BytesIO(encode(pixels)))
        image.load()
        self.assertEqual((image.mode, image.format), ("L", "PNG"))
        np.testing.assert_array_equal(np.asarray(image), pixels)

    def test_pictures_of_any_extent(self):
        random = np.random.default_rng(1)
        for _ in range(20):
            self.check(random.integers(0, 256, random.integers(1, 70, 2)).astype(np.uint8))

    def test_slopes_and_steps(self):
        rows, columns = np.indices((40, 60))
        for pixels in (3 * rows, columns, rows + columns, 255 * (rows > 20), 0 * rows):
            self.check(pixels.astype(np.uint8))

    def test_parts_of_an_array(self):
        whole = np.arange(240, dtype=np.uint8).reshape(4, 6, 10)
        self.check(whole[:, 2, ::3])

    def test_smooth_pictures_are_small(self):
        rows, columns = np.indices((128, 128))
        self.assertLess(len(encode((rows + columns).astype(np.uint8))), 1000)


if __name__ == "__main__":
    unittest.main()
