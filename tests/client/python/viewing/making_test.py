"""Pages of outputs beside their inputs."""

import numpy as np
from view_case import ArrayOfNumbers, ViewCase, geometry
from znni.errors import InvalidError
from znni.viewing.making import View, make_page


class MakingTest(ViewCase):
    def volumes(self, offset=(3, 4, 5), channels=1, **facts):
        """Returns an input, and an output that is a part of it from `offset` on."""
        array = self.random.integers(0, 256, (1, 20, 24, 28)).astype(np.uint8)
        part = array[:, offset[0] :, offset[1] :, offset[2] :][:, :12, :13, :14]
        own = ArrayOfNumbers(np.concatenate([part] * channels), notes={"offset": list(offset)}, **facts)
        return own, ArrayOfNumbers(array)

    def make(self, *volumes, result=None, **wishes):
        return make_page(*volumes, View(**wishes), result, False)

    def test_an_unpadded_output_lies_where_it_belongs(self):
        output, source = self.volumes()
        page = self.make(output, source)
        its, own = page.volumes
        self.assertEqual((its.role, own.role), ("input", "output"))
        np.testing.assert_array_equal(its.channels[0].pixels, source.array[0])
        inner = tuple(slice(a - b, a - b + n) for a, b, n in zip(own.first, its.first, own.channels[0].pixels.shape))
        np.testing.assert_array_equal(its.channels[0].pixels[inner], own.channels[0].pixels)
        self.assertEqual(
            own.facts["place"], "3, 4, 5 voxels from the input's first one, by the offset in the output's attributes"
        )
        self.assertEqual(page.notes, [])

    def test_cells_of_both_cover_the_same_voxels(self):
        for offset in ((3, 4, 5), (2, 3, 3), (0, 1, 8)):
            output, source = self.volumes(offset)
            page = self.make(output, source, max_size=9, max_slices=7)
            its, own = page.volumes
            inside = tuple(
                slice(first - start + 1, first - start + n - 1)
                for first, start, n in zip(own.first, its.first, own.channels[0].pixels.shape)
            )
            core = own.channels[0].pixels[1:-1, 1:-1, 1:-1]
            self.assertGreater(core.size, 0)
            np.testing.assert_array_equal(its.channels[0].pixels[inside], core)
            self.assertIn("one of 3 planes and the mean of 3x4 voxels", page.notes[0])

    def test_an_output_alone(self):
        output, _ = self.volumes(geometry=geometry((4, 1, 1), (8, 0, 0)))
        page = self.make(output, None)
        self.assertEqual([volume.role for volume in page.volumes], ["output"])
        self.assertEqual((page.space.size, page.space.origin), ((4.0, 1.0, 1.0), (8.0, 0.0, 0.0)))
        self.assertEqual(page.space.units, ("nanometer",) * 3)
        self.assertNotIn("place", page.volumes[0].facts)

    def test_an_output_that_reaches_beyond(self):
        output, source = self.volumes()
        page = self.make(output, source, offset=(-2, 20, 3))
        self.assertEqual([axis.begin for axis in page.space.axes], [-2, 0, 0])
        self.assertEqual([axis.count for axis in page.space.axes], [22, 33, 28])
        self.assertEqual([list(volume.first) for volume in page.volumes], [[2, 0, 0], [0, 20, 3]])

    def test_channels(self):
        output, source = self.volumes(channels=6)
        shown = self.make(output, source).volumes[1]
        self.assertEqual([channel.number for channel in shown.channels], [0, 1, 2, 3])
        page = self.make(output, source, channels=(5, 0))
        self.assertEqual([channel.number for channel in page.volumes[1].channels], [5, 0])
        self.assertEqual(page.notes, ["output: channels 5, 0 of 6 are shown; --channels names others"])
        with self.assertRaisesRegex(
            InvalidError, "volume: 6 channels found, expected more than 6: pass numbers from 0 to 5"
        ):
            self.make(output, source, channels=(0, 6))

    def test_the_run(self):
        output, source = self.volumes()
        output.notes["model"] = "net"
        run = self.make(output, source, result={"seconds": 2.0, "dtype": "uint8"}).run
        self.assertEqual(run.seconds, {"seconds": 2.0})
        self.assertEqual(run.others, {"offset": "3, 4, 5", "model": "net", "dtype": "uint8"})

    def test_what_is_assumed_or_missing_is_said(self):
        output, source = self.volumes((4, 5, 7))
        output.notes = None
        source.array = source.array.astype(np.float32)
        source.array[0, 0, 0, 0] = np.nan
        source.dtype = source.array.dtype
        page = self.make(output, source)
        self.assertEqual(list(page.volumes[1].first), [4, 5, 7])
        self.assertRegex(page.notes[0], "^place of the output is assumed")
        self.assertRegex(page.notes[1], "^input: 1 of the voxels that were read are NaN")

    def test_progress(self):
        calls = []
        output, source = self.volumes()
        make_page(output, source, View(), None, lambda done, total: calls.append((done, total)))
        self.assertIn((20.0 * 24 * 28, 20.0 * 24 * 28), calls)
        self.assertEqual(calls[-1], (12.0 * 13 * 14, 12.0 * 13 * 14))


if __name__ == "__main__":
    import unittest

    unittest.main()
