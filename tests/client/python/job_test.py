"""The voxels that are read and sent for a part of an output."""

import dataclasses
import unittest

import numpy as np
from znni.box import Box
from znni.errors import InvalidError
from znni.job import plan_job, roi_of
from znni.model import Model
from znni.scaling import Scaling
from znni.stores.array import ArraySource

MODEL = Model("net", "2", True, 1, 3, (10, 1, 5), False, {})


def job(extent=(30, 40, 50), roi=None, pad="none", dtype="float32", model=MODEL):
    return plan_job(model, ArraySource(np.zeros(extent, np.uint16), "volume"), roi, pad, dtype)


class JobTest(unittest.TestCase):
    def test_without_padding(self):
        found = job(roi="5:30,:,10:50")
        self.assertEqual((found.output, found.origin), ((16, 40, 36), (9, 0, 12)))
        self.assertEqual(found.given, found.roi)

    def test_with_padding(self):
        found = job(roi="5:30,:,10:50", pad="zero")
        self.assertEqual((found.output, found.origin), ((25, 40, 40), (5, 0, 10)))

    def test_parts(self):
        found = job(pad="zero")
        part = Box((0, 10, 20), (30, 25, 50))
        self.assertEqual(found.input_of(part), Box((-4, 10, 18), (35, 25, 52)))
        header = found.header(part, 7, "token")
        self.assertEqual((header.extent.z, header.extent.y, header.extent.x), (39, 15, 34))
        self.assertEqual((header.datatype, header.output_datatype, header.channels), ("UINT16", "FP32", 1))
        self.assertEqual((header.model_name, header.model_version), ("net", "2"))
        self.assertEqual((header.first_plane, header.resume_token), (7, "token"))

    def test_what_the_model_does_not_take(self):
        for words, options in (
            ("30x40x4 voxels found", {"extent": (30, 40, 4)}),
            ("pad: 'x'", {"pad": "x"}),
            ("2 channels", {"extent": (2, 30, 40, 50)}),
            ("roi: z", {"roi": "0:31,:,:"}),
            ("9x40x50 voxels found", {"roi": "0:9,:,:"}),
            ("dtype: 'int8'", {"dtype": "int8"}),
        ):
            with self.assertRaisesRegex(InvalidError, words):
                job(**options)

    def test_a_region_for_a_network_that_pads(self):
        """It is computed from what is around it, of which the output is cut."""
        pads = dataclasses.replace(
            MODEL,
            pads=True,
            field_of_view=(1, 1, 1),
            padding=((3, 0, 2), (5, 1, 2)),
            period=(4, 1, 2),
            min_extent=(6, 1, 2),
        )
        found = job(roi="13:15,:,20:30", model=pads)
        self.assertEqual(found.given, Box((8, 0, 18), (26, 40, 32)))  # 18 planes, 30 but for multiples of 4
        self.assertEqual((found.streamed, found.kept), ((18, 40, 14), Box((5, 0, 2), (7, 40, 12))))
        self.assertEqual((found.output, found.origin), ((2, 40, 10), (13, 0, 20)))
        self.assertEqual(job(roi="13:15,:,20:30", model=pads, pad="reflect").given, found.given)
        whole = job(roi="0:30,:,:", model=pads)
        self.assertEqual((whole.streamed, whole.kept), ((30, 40, 50), Box((0, 0, 0), (30, 40, 50))))

    def test_a_padded_region_for_a_network_that_pads_and_loses_voxels(self):
        """The volume has its padding before the network pads."""
        pads = dataclasses.replace(MODEL, pads=True, field_of_view=(3, 1, 1), padding=((2, 0, 0), (4, 0, 0)))
        found = job(roi="0:9,:,:", model=pads, pad="zero")
        self.assertEqual((found.given, found.output), (Box((-1, 0, 0), (14, 40, 50)), (9, 40, 50)))
        self.assertEqual(found.kept, Box((0, 0, 0), (9, 40, 50)))
        found = job(roi="0:9,:,:", model=pads)
        self.assertEqual((found.given, found.output), (Box((0, 0, 0), (13, 40, 50)), (7, 40, 50)))

    def test_a_volume_that_suits_no_stride_is_named_whatever_the_region(self):
        pads = dataclasses.replace(MODEL, pads=True, field_of_view=(1, 1, 1), period=(1, 8, 1), min_extent=(1, 16, 1))
        with self.assertRaisesRegex(
            InvalidError, "volume: 44 voxels along y found, expected 40 or 48: the strides of mod"
        ):
            job((30, 44, 50), roi="0:9,3:6,:", model=pads)
        self.assertEqual(job(roi="0:9,3:6,:", model=pads).output, (9, 3, 50))
        shrinks = dataclasses.replace(pads, field_of_view=(1, 3, 1))  # 46 with padding
        with self.assertRaisesRegex(
            InvalidError, "volume: 44 voxels along y found, expected 38 or 46: the strides of mod"
        ):
            job((30, 44, 50), roi="0:9,3:6,:", model=shrinks, pad="zero")

    def test_passes(self):
        """Each is given the mirrored box of the same voxels, although the field of view is even along z."""
        one = job(roi="5:30,:,10:50", pad="zero")
        self.assertEqual(one.passes(), [one])
        passes = dataclasses.replace(one, averaged=(0, 2), dtype=np.dtype("u1")).passes()
        self.assertEqual([each.mirror.axes for each in passes], [(), (0,), (2,), (0, 2)])
        for each in passes:
            self.assertEqual((each.dtype, each.streamed, each.whole), (np.float32, one.streamed, one.whole))
            self.assertEqual(each.mirror.place_of(each.given), one.given)
            self.assertEqual(each.kept, one.kept)
        self.assertEqual(passes[1].given, Box((-4, 0, 8), (30, 40, 52)))  # of -4 to 35

    def test_passes_of_a_network_that_pads(self):
        """A region lies elsewhere in the mirrored volume, so that strides that begin there fit it otherwise."""
        pads = dataclasses.replace(
            MODEL, pads=True, field_of_view=(1, 1, 1), padding=((3, 0, 0), (5, 0, 0)), period=(4, 1, 1)
        )
        one = job(roi="13:16,:,:", model=dataclasses.replace(pads, min_extent=(6, 1, 1)))
        mirrored = dataclasses.replace(one, averaged=(0,)).passes()[1]
        region = tuple(30 - n for n in (16, 13))
        self.assertEqual(
            tuple(mirrored.given.start[0] + n for n in (mirrored.kept.start[0], mirrored.kept.stop[0])), region
        )
        for each in (one, mirrored):
            self.assertEqual((each.given.start[0] % 4, (30 - each.given.stop[0]) % 4, each.output), (0, 0, (3, 40, 50)))

    def test_a_model_that_needs_the_whole_volume(self):
        whole = dataclasses.replace(MODEL, properties={"input_zscore": "volume"})
        self.assertEqual(job(model=whole).output, (21, 40, 46))
        with self.assertRaisesRegex(InvalidError, "^roi: model 'net' takes mean and deviation of all of the volume"):
            job(roi="0:29,:,:", model=whole)

    def test_a_scale_of_the_callers(self):
        """The daemon is told so, and takes no mean of the volume, so that a region is no matter."""
        whole = dataclasses.replace(MODEL, properties={"input_zscore": "volume"})
        source = ArraySource(np.zeros((30, 40, 50), np.uint16), "volume")
        box = Box((0, 0, 0), (1, 1, 1))
        self.assertFalse(plan_job(whole, source, None, "none", "uint8").header(box).normalised)
        source.rescale(Scaling(0.5, 0))
        header = plan_job(whole, source, "0:29,:,:", "none", "uint8").header(box)
        self.assertEqual((header.normalised, header.datatype), (True, "FP32"))

    def test_the_region_of_a_box_of_the_output(self):
        box = Box((1, 2, 3), (4, 5, 6))
        self.assertEqual(roi_of(box, MODEL, "none"), Box((1, 2, 3), (13, 5, 10)))
        self.assertEqual(roi_of(box, MODEL, "edge"), box)

    def test_a_network_that_normalises(self):
        """A region is computed from all windows that have a voxel of it, also one that is less than a window."""
        bound = dataclasses.replace(MODEL, pads=True, window=(20, 40, 50), window_overlap=0.5)
        self.assertEqual(job(model=bound).output, (21, 40, 46))
        self.assertEqual(job(pad="zero", model=bound).output, (30, 40, 50))
        found = job(roi="0:14,:,:", model=bound)  # output planes 0 to 4; windows have 11 and begin at 0, 5, 10
        self.assertEqual((found.output, found.given), ((5, 40, 46), Box((0, 0, 0), (20, 40, 50))))
        found = job(roi="15:25,:,:", model=bound)
        self.assertEqual((found.output, found.given), ((1, 40, 46), Box((5, 0, 0), (30, 40, 50))))
        self.assertEqual(found.kept, Box((10, 0, 0), (11, 40, 46)))
        with self.assertRaisesRegex(InvalidError, "volume: 19x40x50 voxels found, expected at least the window"):
            job((19, 40, 50), roi="5:15,:,:", model=bound)


if __name__ == "__main__":
    unittest.main()
