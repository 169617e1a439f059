"""Windows of a volume, slab by slab."""

import unittest
from unittest import mock

import numpy as np
from znni.box import Box
from znni.mirrors import Mirror
from znni.scaling import Scaling
from znni.stores.array import ArraySource
from znni.streaming import padded_source
from znni.streaming.padded_source import PaddedSource

MODES = {"zero": "constant", "reflect": "reflect", "edge": "edge"}


class PaddedSourceTest(unittest.TestCase):
    def volume(self, kind=np.uint16):
        return np.random.default_rng(1).integers(1, 9999, (2, 9, 7, 8)).astype(kind)

    def source(self, volume, depth=1):
        """Records the planes that are read together."""
        source = ArraySource(volume, "volume")
        source.depth = depth
        self.read = []
        read = source.read
        source.read = lambda box: self.read.append((box.start[0], box.stop[0])) or read(box)
        return source

    def test_equals_numpy(self):
        volume = self.volume(">u2")
        wide = {pad: np.pad(volume, [(0, 0), (6, 6), (6, 6), (6, 6)], mode=mode) for pad, mode in MODES.items()}
        rng = np.random.default_rng(2)
        for pad in MODES:
            for _ in range(30):
                start = [int(rng.integers(-6, n + 5)) for n in (9, 7, 8)]
                stop = [int(rng.integers(a + 1, n + 7)) for a, n in zip(start, (9, 7, 8))]
                for depth in (1, 4):
                    with mock.patch.object(padded_source, "SLAB_BYTES", 300):
                        window = PaddedSource(self.source(volume, depth), pad, Box(tuple(start), tuple(stop)))
                        found = np.concatenate(list(window.slabs()))
                    ranges = tuple(slice(a + 6, b + 6) for a, b in zip(start, stop))
                    expected = wide[pad][(slice(None), *ranges)].transpose(1, 0, 2, 3)
                    np.testing.assert_array_equal(found, expected)
                    self.assertEqual(found.dtype, np.dtype("<u2"))
                    self.assertEqual(window.plane_bytes, found[0].nbytes)

    def test_padding_is_scaled_as_voxels_are(self):
        volume = self.volume(np.uint8)
        for pad, mode in MODES.items():
            wide = np.pad(volume, [(0, 0), (3, 3), (3, 3), (3, 3)], mode=mode)
            source = self.source(volume)
            source.rescale(Scaling(0.5, -7.0))
            found = np.concatenate(list(PaddedSource(source, pad, Box((-3, -3, -3), (12, 10, 11))).slabs()))
            np.testing.assert_array_equal(found, wide.transpose(1, 0, 2, 3) * np.float32(0.5) - 7, pad)

    def test_mirrored_windows_equal_numpy(self):
        """The box that is mirrored begins four voxels before the volume, and ends five behind it."""
        volume = self.volume()
        whole = Box((-4, -4, -4), (14, 12, 13))
        rng = np.random.default_rng(3)
        for pad, mode in MODES.items():
            wide = np.pad(volume, [(0, 0), (4, 5), (4, 5), (4, 5)], mode=mode)
            for axes in ((0,), (1,), (0, 2), (0, 1, 2)):
                turned = np.flip(wide, [axis + 1 for axis in axes])
                for depth in (1, 4):
                    start = [int(rng.integers(-4, n + 4)) for n in (9, 7, 8)]
                    stop = [int(rng.integers(a + 1, n + 6)) for a, n in zip(start, (9, 7, 8))]
                    with mock.patch.object(padded_source, "SLAB_BYTES", 300):
                        box = Box(tuple(start), tuple(stop))
                        found = PaddedSource(self.source(volume, depth), pad, box, Mirror(axes, whole)).slabs()
                        found = np.concatenate(list(found))
                    ranges = tuple(slice(a + 4, b + 4) for a, b in zip(start, stop))
                    np.testing.assert_array_equal(found, turned[(slice(None), *ranges)].transpose(1, 0, 2, 3))

    def test_begins_at_a_plane(self):
        window = PaddedSource(self.source(self.volume()), "none", Box((1, 0, 0), (9, 7, 8)))
        np.testing.assert_array_equal(np.concatenate(list(window.slabs(3))), self.volume().transpose(1, 0, 2, 3)[4:9])

    def test_planes_that_are_stored_together_are_read_once(self):
        window = PaddedSource(self.source(self.volume(), depth=4), "none", Box((1, 0, 0), (9, 7, 8)))
        with mock.patch.object(padded_source, "SLAB_BYTES", 1):
            list(window.slabs())
        self.assertEqual(self.read, [(1, 4), (4, 8), (8, 9)])

    def test_mirrored_planes_that_are_stored_together_are_read_once(self):
        whole = Box((0, 0, 0), (9, 7, 8))
        window = PaddedSource(self.source(self.volume(), depth=4), "none", whole, Mirror((0,), whole))
        with mock.patch.object(padded_source, "SLAB_BYTES", 1):
            list(window.slabs())
        self.assertEqual(self.read, [(8, 9), (4, 8), (0, 4)])

    def test_no_more_is_read_than_fits(self):
        window = PaddedSource(self.source(self.volume(), depth=8), "none", Box((0, 0, 0), (9, 7, 8)))
        with mock.patch.object(padded_source, "MOST_SLAB_BYTES", 3 * window.plane_bytes):
            list(window.slabs())
        self.assertEqual(self.read, [(0, 3), (3, 6), (6, 8), (8, 9)])

    def test_names_the_first_voxel_that_is_not_finite(self):
        volume = np.zeros((2, 9, 7, 8), np.float32)
        volume[1, 4, 5, 6] = np.inf
        volume[0, 8, 5, 6] = np.nan
        with mock.patch.object(padded_source, "SLAB_BYTES", 1):
            window = PaddedSource(self.source(volume), "reflect", Box((2, -3, 4), (11, 9, 9)))
            list(window.slabs())
        self.assertEqual(window.nonfinite, "channel 1, z 4, y 5, x 6 (inf)")
        clean = PaddedSource(self.source(volume), "none", Box((0, 0, 0), (4, 7, 8)))
        list(clean.slabs())
        self.assertEqual(clean.nonfinite, "")


if __name__ == "__main__":
    unittest.main()
