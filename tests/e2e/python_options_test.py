"""Types of voxels, scale, masks, channels and mirrors of the Python client, beside NumPy."""

import itertools
import unittest

import numpy as np
import onnx
import zarr
import znni
from padded_test import nearest
from python_case import PythonCase
from znni.voxel_type import as_output


class PythonOptionsTest(PythonCase):
    @classmethod
    def save_models(cls, repository):
        super().save_models(repository)
        (repository / "padded/1").mkdir(parents=True)
        onnx.save(nearest(), repository / "padded/1/model.onnx")  # pads, pools by 2 and upsamples

    def test_types_that_are_sent_as_float32(self):
        volume = self.volume((24, 30, 40), np.int16) - 100
        expected = self.predict(volume.astype(np.float32), pad="reflect")
        for kind in ("i1", "<i2", ">i2", ">i4", "u4", "i8", "<u8", ">f8"):
            shifted = volume if np.dtype(kind).kind != "u" else volume + 100
            wanted = expected if shifted is volume else self.predict(shifted.astype(np.float32), pad="reflect")
            self.assert_same(self.predict(shifted.astype(kind), pad="reflect"), wanted)
            zarr.create_array(self.work / "kinds.zarr", data=shifted.astype(kind), chunks=(9, 9, 9), overwrite=True)
            self.assert_same(self.predict(self.work / "kinds.zarr", pad="reflect"), wanted)

    def test_slices_of_mean_0_and_deviation_1(self):
        """Also of a region, and in parts: those of the whole slices, as NumPy has them."""
        volume = self.volume((6, 30, 40), np.uint8)
        values = volume.astype(np.float64)
        expected = (values - values.mean((1, 2), keepdims=True)) / values.std((1, 2), keepdims=True)
        found = self.predict(volume, model="same", scale="slice_zscore")
        np.testing.assert_allclose(found, expected, atol=1e-5)
        found = self.predict(volume, model="same", scale="slice_zscore", roi="1:3,5:20,7:40")
        np.testing.assert_allclose(found, expected[1:3, 5:20, 7:], atol=1e-5)

    def test_scale_equals_znni_infer(self):
        """Also to what NumPy makes of the volume in float64, rounded to float32."""
        for kind in (np.uint8, np.uint16, np.float32):
            volume = self.volume((37, 45, 52), kind)
            _, expected = self.infer(volume, "--scale", "0.0117", "--offset", "-0.3")
            found = self.predict(volume, scale=(0.0117, -0.3))
            self.assert_same(found, expected)
            prepared = (volume.astype(np.float64) * np.float32(0.0117).item() + np.float32(-0.3).item()).astype("<f4")
            self.assert_same(self.predict(prepared, scale=1), found)
        for pad in ("zero", "reflect"):
            _, expected = self.infer(volume, "--scale", "0.0117", "--offset", "-0.3", "--padding", pad)
            self.assert_same(self.predict(volume, scale=(0.0117, -0.3), pad=pad), expected)
        own = self.predict(volume, model="same")
        np.testing.assert_allclose(self.predict(volume, model="same", scale=1), own * 255, rtol=1e-6)

    def test_mask(self):
        """It lies over the volume, of which an unpadded output begins further in; a region lies in it, too."""
        volume = self.volume((24, 30, 40))
        coarse = np.random.default_rng(5).random((12, 10, 10)) < 0.5
        fine = coarse.repeat(2, 0).repeat(3, 1).repeat(4, 2)
        zarr.create_array(self.work / "mask.zarr", data=coarse, chunks=(5, 5, 5))
        whole = self.predict(volume)
        expected = np.where(fine[4:19, 4:25, 4:35], whole, np.float32(0))
        part = self.predict(volume, pad="reflect", roi="3:20,:,7:40", dtype="uint8")
        for mask in (fine, coarse, self.work / "mask.zarr"):
            self.assert_same(self.predict(volume, mask=mask), expected)
            found = self.predict(volume, pad="reflect", roi="3:20,:,7:40", dtype="uint8", mask=mask)
            self.assert_same(found, part * fine[3:20, :, 7:40])
        self.predict(volume, self.work / "masked.zarr", mask=self.work / "mask.zarr")
        made = zarr.open_group(self.work / "masked.zarr", mode="r")
        self.assert_same(made["0"][:], expected)
        self.assertEqual(made.attrs["znni"]["mask"], str(self.work / "mask.zarr"))
        self.refused(znni.InvalidError, "mask: a mask of 12x10x9 voxels found", volume, mask=coarse[:, :, 1:])

    def test_channels(self):
        volume = self.volume((24, 30, 40))
        whole = self.predict(volume)
        for kept in ([0], [2, 0], [1, 2, 0]):
            out = self.work / "channels.zarr"
            self.predict(volume, out, channels=kept, overwrite=True)
            made = zarr.open_group(out, mode="r")
            self.assert_same(made["0"][:].reshape(-1, *whole.shape[1:]), whole[kept])
            self.assertEqual(made.attrs["znni"]["channels"], kept)
        self.assert_same(self.predict(volume, channels=1), whole[1])
        self.assert_same(self.predict(volume, channels=next(iter(self.client.model("net").outputs))), whole)
        self.refused(
            znni.InvalidError, "channels: 3 found, expected numbers of channels from 0 to 2", volume, channels=3
        )

    def test_mean_over_mirrored_volumes(self):
        """Beside the mean in float64 of outputs of mirrored arrays, whose padding NumPy makes. The field of view is
        even, so that a voxel has more of it behind than before."""
        volume = self.volume((22, 26, 31))
        wide = np.pad(volume, [(4, 5)] * 3, mode="reflect")
        for given, pad, roi in (
            (volume, "none", np.s_[:, :, :]),
            (wide, "reflect", np.s_[:, :, :]),
            (wide, "reflect", np.s_[3:14, :, 6:30]),
        ):
            for tta in ("mirror", "x", "zy"):
                axes = [1 + "zyx".index(name) for name in (tta if tta != "mirror" else "zyx")]
                subsets = [s for n in range(len(axes) + 1) for s in itertools.combinations(axes, n)]
                each = [np.flip(self.predict(np.flip(given[None], s).copy()), s) for s in subsets]
                mean = np.mean(each, axis=0, dtype=np.float64)[(slice(None), *roi)]
                found = self.predict(volume, pad=pad, roi=roi if pad != "none" else None, tta=tta)
                bound = (len(subsets) - 1) * 2.0**-24 * np.mean(np.abs(each), axis=0)[(slice(None), *roi)].max() + 1e-6
                self.assertEqual((found.dtype, found.shape), (np.float32, mean.shape))
                self.assertLess(np.abs(found - mean).max(), bound)
                self.assertGreater(np.abs(found - each[0][(slice(None), *roi)]).max(), 1e-3)

    def test_mean_over_mirrored_volumes_of_a_net_that_pads(self):
        """A region is computed from other voxels of each mirrored volume, so that strides begin where they do."""
        volume = self.volume((24, 28, 36))
        subsets = [s for n in range(4) for s in itertools.combinations((1, 2, 3), n)]
        each = [np.flip(self.predict(np.flip(volume[None], s).copy(), model="padded"), s) for s in subsets]
        mean = np.mean(each, axis=0, dtype=np.float64)
        for roi in (np.s_[:, :, :], np.s_[5:18, 3:20, 8:31]):
            found = self.predict(volume, model="padded", tta="mirror", roi=roi)
            np.testing.assert_allclose(found, mean[(slice(None), *roi)], rtol=1e-5, atol=1e-5)
            self.assertGreater(np.abs(found - each[0][(slice(None), *roi)]).max(), 1e-2)

    def test_mean_as_bytes_within_a_mask_of_some_channels(self):
        volume, seen = self.volume((22, 26, 31)), []
        mask = np.random.default_rng(2).random((11, 13, 31)) < 0.7
        whole = self.predict(volume, pad="zero", tta="yx")
        out = self.work / "mean.zarr"
        self.client.predict(
            "net",
            volume,
            out,
            pad="zero",
            tta="yx",
            dtype="uint8",
            mask=mask,
            channels=[2, 0],
            progress=lambda done, total: seen.append((done, total)),
        )
        made = zarr.open_group(out, mode="r")
        inside = mask.repeat(2, 0).repeat(2, 1)
        self.assert_same(made["0"][:], np.where(inside, as_output(whole[[2, 0]], np.dtype("u1")), 0).astype("u1"))
        self.assertEqual(seen[-1], (4 * volume.size, 4 * volume.size))
        self.assert_same(self.predict(volume, dtype="uint8"), as_output(self.predict(volume), np.dtype("u1")))


if __name__ == "__main__":
    unittest.main()
