"""Scale and translation of OME-NGFF."""

import unittest

from znni.errors import InvalidError
from znni.geometry import Frame, Geometry, geometry_of, multiscale_of

NM = ("nanometer",) * 3
ONE = {"s0": (0, 0, 0)}  # resolution


def image(axes="czyx", own=(), common=()):
    """Returns a multiscale with array "s0"."""
    kinds = [{"name": n, **({"type": "space", "unit": "nanometer"} if n in "zyx" else {})} for n in axes]
    return {
        "axes": kinds,
        "datasets": [{"path": "s0", "coordinateTransformations": list(own)}],
        "coordinateTransformations": list(common),
    }


class GeometryTest(unittest.TestCase):
    def test_scale_then_translation(self):
        own = [{"type": "scale", "scale": [1, 40, 4, 4]}, {"type": "translation", "translation": [0, 7, 8, 9]}]
        self.assertEqual(geometry_of(image(own=own), "s0", "v"), Geometry((40, 4, 4), (7, 8, 9), NM))
        common = [{"type": "scale", "scale": [1, 2, 2, 2]}]
        self.assertEqual(geometry_of(image(own=own, common=common), "s0", "v"), Geometry((80, 8, 8), (14, 16, 18), NM))

    def test_another_array(self):
        self.assertIsNone(geometry_of(image(), "s1", "v"))

    def test_axes_of_old_versions(self):
        old = {"axes": ["z", "y", "x"], "datasets": [{"path": "s0"}]}
        self.assertEqual(geometry_of(old, "s0", "v"), Geometry())
        self.assertEqual(geometry_of({"datasets": [{"path": "s0"}]}, "s0", "v"), Geometry())

    def test_other_axes(self):
        with self.assertRaisesRegex(InvalidError, "^v: axes c, x, y, z found, expected z, y, x as the last"):
            geometry_of(image("cxyz"), "s0", "v")

    def test_moved(self):
        moved = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), NM).moved((2, 0, 10))
        self.assertEqual(moved, Geometry((40.0, 4.0, 4.0), (87.0, 8.0, 49.0), NM))

    def test_frames_move_along_their_own_axes(self):
        frame = Frame(((0.0, 2.0, 0.0, 7.0), (3.0, 0.0, 0.0, 8.0), (0.0, 0.0, -4.0, 9.0)), True)
        moved = Geometry(frame=frame).moved((1, 10, 100)).frame
        self.assertEqual(moved, Frame(((0.0, 2.0, 0.0, 27.0), (3.0, 0.0, 0.0, 308.0), (0.0, 0.0, -4.0, 5.0)), True))

    def test_what_is_written_is_read(self):
        geometry = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), NM)
        for ndim in (3, 4):
            made = multiscale_of(geometry, "net", ONE, ndim, "0.4")
            self.assertEqual(geometry_of(made, "s0", "v"), geometry)
            self.assertEqual((len(made["axes"]), made["version"]), (ndim, "0.4"))
        self.assertNotIn("version", multiscale_of(geometry, "net", ONE, 3, "0.5"))
        self.assertNotIn("unit", multiscale_of(Geometry(), "net", ONE, 3, "0.4")["axes"][0])

    def test_coarser_voxels_lie_in_the_middle_of_those_that_became_them(self):
        geometry = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), NM)
        halved = geometry.halved((0, 1, 3))
        self.assertEqual(halved, Geometry((40.0, 8.0, 32.0), (7.0, 10.0, 23.0), NM))
        for axis, count in enumerate((1, 2, 8)):
            centres = [geometry.translation[axis] + geometry.scale[axis] * i for i in range(count, 2 * count)]
            self.assertEqual(halved.translation[axis] + halved.scale[axis], sum(centres) / count)

    def test_coarser_resolutions_are_written_behind_the_finest(self):
        geometry = Geometry((40.0, 4.0, 4.0), (7.0, 8.0, 9.0), NM)
        resolutions = {"0": (0, 0, 0), "1": (0, 1, 1), "2": (1, 3, 3)}
        for ndim, version in ((3, "0.4"), (4, "0.5")):
            made = multiscale_of(geometry, "net", resolutions, ndim, version)
            self.assertEqual([one["path"] for one in made["datasets"]], ["0", "1", "2"])
            for path, halvings in resolutions.items():
                self.assertEqual(geometry_of(made, path, "v"), geometry.halved(halvings))


if __name__ == "__main__":
    unittest.main()
