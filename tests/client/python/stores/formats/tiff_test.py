"""Files of TIFF, as tifffile, ImageJ and OME write them, and folders of pages."""

import logging
import sys
from unittest import mock

import numpy as np
import tifffile
from file_case import TYPES, FileCase, voxels
from znni.box import Box
from znni.errors import InvalidError, NotFoundError
from znni.geometry import Geometry
from znni.stores.formats import tiff
from znni.stores.opening import open_raw, open_source

TWO = voxels("<u2", (5, 2, 6, 7))  # z and then channels, as ImageJ has them
IN_ORDER = TWO.transpose(1, 0, 2, 3)


class TiffTest(FileCase):
    def save(self, array, name="v.tif", **options):
        path = self.folder / name
        tifffile.imwrite(path, array, photometric="minisblack", **options)
        return path

    def test_all_types(self):
        for number, dtype in enumerate(TYPES):
            order = ">" if np.dtype(dtype).byteorder == ">" else "<"
            for name, options in (("raw", {}), ("deflated", {"compression": "zlib"})):
                path = self.save(voxels(dtype), f"{number}{name}.tif", byteorder=order, **options)
                self.check_sent(path, voxels(dtype))

    def test_layouts_of_pages(self):
        volume = voxels("<u2", (5, 50, 70))
        for number, options in enumerate(
            (
                {"metadata": None},
                {"bigtiff": True},
                {"tile": (16, 32)},
                {"tile": (16, 32), "compression": "zlib", "predictor": True},
                {"rowsperstrip": 7, "compression": "lzw"},
                {"rowsperstrip": 7, "metadata": None},
                {"imagej": True, "metadata": {"axes": "ZYX"}},
                {"ome": True, "metadata": {"axes": "ZYX"}},
                {"ome": True, "metadata": {"axes": "ZYX"}, "tile": (32, 16)},
            )
        ):
            path = self.save(volume, f"{number}.TIFF" if number == 0 else f"{number}.tif", **options)
            np.testing.assert_array_equal(self.read(path)[0], volume, str(options))
            for box in (Box((1, 15, 31), (3, 17, 33)), Box((4, 0, 69), (5, 50, 70)), Box((0, 49, 0), (1, 50, 1))):
                ranges = tuple(slice(a, b) for a, b in zip(box.start, box.stop))
                np.testing.assert_array_equal(self.read(path, box)[0], volume[ranges], str(options))

    def test_channels(self):
        for number, (array, options) in enumerate(
            (
                (TWO, {"imagej": True, "metadata": {"axes": "ZCYX"}}),
                (TWO, {"ome": True, "metadata": {"axes": "ZCYX"}}),
                (IN_ORDER, {"ome": True, "metadata": {"axes": "CZYX"}}),
                (IN_ORDER, {"metadata": {"axes": "CZYX"}, "compression": "zlib"}),
                (TWO, {"metadata": {"axes": "ZCYX"}, "tile": (16, 16)}),
            )
        ):
            path = self.save(array, f"{number}.tif", **options)
            np.testing.assert_array_equal(self.read(path), IN_ORDER, str(options))
            part = self.read(path, Box((1, 2, 3), (4, 5, 6)))
            np.testing.assert_array_equal(part, IN_ORDER[:, 1:4, 2:5, 3:6])
            raw = open_raw(str(path))
            np.testing.assert_array_equal(raw[0, 1:2, 0:6, 0:7], IN_ORDER[0, 1:2])
            if getattr(raw, "file", None):
                raw.file.close()

    def test_samples_are_channels(self):
        colours = voxels("u1", (5, 6, 7, 3))
        for options in ({}, {"compression": "zlib"}, {"tile": (16, 16)}):
            path = self.folder / "rgb.tif"
            tifffile.imwrite(path, colours, photometric="rgb", metadata={"axes": "ZYXS"}, **options)
            np.testing.assert_array_equal(self.read(path), colours.transpose(3, 0, 1, 2))

    def test_a_stack_of_imagej_in_one_directory(self):
        path = self.folder / "v.tif"
        text = "ImageJ=1.54f\nimages=5\nslices=5\n"
        with tifffile.TiffWriter(path, byteorder=">") as file:
            file.write(voxels(">u2")[0], photometric="minisblack", metadata=None, description=text)
        with path.open("r+b") as file:  # the voxels of the other planes follow those of the first
            with tifffile.TiffFile(path) as written:
                offset = written.pages[0].dataoffsets[0]
            file.seek(offset)
            file.write(voxels(">u2").tobytes())
        with tifffile.TiffFile(path) as written:
            self.assertEqual(len(written.pages), 1)
        self.check_sent(path, voxels(">u2"))

    def test_a_folder_of_pages(self):
        folder = self.folder / "pages"
        folder.mkdir()
        for z, plane in enumerate(voxels("<u2", (12, 6, 7))):
            options = {"compression": "zlib"} if z % 2 else {}
            tifffile.imwrite(folder / f"z{z}.tif", plane, **options)
        (folder / "notes.txt").touch()
        self.check_sent(folder, voxels("<u2", (12, 6, 7)))
        (folder / "z7.tif").rename(folder / "z7.txt")
        self.check_refused(folder, "pages z6.tif and z8.tif found, expected steps of 1: add the pages between them")
        tifffile.imwrite(folder / "z7.tif", voxels("<u2", (5, 7)))
        with self.assertRaisesRegex(
            InvalidError, r"z7.tif: 5x7 voxels of uint16 found, expected 6x7 of .* as z0.tif has"
        ):
            self.read(folder)
        tifffile.imwrite(folder / "z7.tif", voxels("<u2"))
        with self.assertRaisesRegex(InvalidError, "z7.tif: 5 pages found, expected one in each file of a folder"):
            self.read(folder)

    def test_a_page_cut_short(self):
        for name in ("z0.tif", "z1.tif"):
            tifffile.imwrite(self.folder / name, voxels("<u2", (60, 70)))
        path = self.folder / "z1.tif"
        path.write_bytes(path.read_bytes()[:-100])
        with self.assertRaisesRegex(InvalidError, "z1.tif: page 0: 8300 bytes found, expected 8400: it is cut short"):
            self.read(self.folder)

    def test_a_folder_without_pages(self):
        (self.folder / "v.tif").mkdir()
        self.check_refused(self.folder / "v.tif", "a folder without files of TIFF found, expected one of pages")

    def test_five_axes(self):
        path = self.save(voxels("u1", (2, 3, 4, 5, 6)), imagej=True)
        words = r"axes TZCYX of \(2, 3, 4, 5, 6\) found, expected z, y, x .*: pass .* tifffile.memmap\('v.tif'\)\[0\]"
        self.check_refused(path, words)
        self.check_refused(self.save(voxels(), imagej=True, metadata={"axes": "TYX"}), "axes TYX")

    def test_several_images(self):
        with tifffile.TiffWriter(self.folder / "v.tif") as file:
            file.write(voxels(), photometric="minisblack")
            file.write(voxels("u1", (3, 8, 9)), photometric="minisblack")
        self.check_refused(self.folder / "v.tif", r"2 images found \(QYX \(5, 6, 7\), QYX \(3, 8, 9\)\), expected one")

    def test_a_file_cut_short(self):
        volume = voxels("<u2", (5, 50, 70))
        for number, options in enumerate(
            ({}, {"compression": "zlib"}, {"imagej": True}, {"tile": (16, 16)}, {"metadata": None}, {"ome": True})
        ):
            path = self.save(volume, f"{number}.tif", **options)
            whole = path.read_bytes()
            for share in (0.02, 0.3, 0.6, 0.9, 0.99):
                path.write_bytes(whole[: int(len(whole) * share)])
                self.check_refused(path, "cut short|damaged|found, expected")

    def test_other_contents(self):
        path = self.folder / "v.tif"
        path.write_bytes(b"\x93NUMPY")
        self.check_refused(path, "a file of NumPy found, expected one of TIFF: name it FILE.npy$")
        path.write_bytes(b"")
        self.check_refused(path, "an empty file found, expected a file of TIFF$")
        self.check_refused(self.folder / "none.tif", "there is no such file", NotFoundError)

    def test_a_compression_without_imagecodecs(self):
        path = self.save(voxels(), compression="lzw")
        lost = ValueError("<COMPRESSION.LZW: 5> requires the 'imagecodecs' package")
        with mock.patch.object(tifffile.TiffPage, "decode") as decode:
            decode.side_effect = lambda data, number, **_: self.decode(data, lost)
            self.check_refused(path, r"compression LZW found, which needs imagecodecs: pip install 'znni\[files\]'")

    @staticmethod
    def decode(data, error):
        if data is not None:
            raise error
        return None, (0, 0, 0, 0, 0), (1, 6, 7, 1)

    def test_writes(self):
        self.check_round_trip(".tif")
        self.write(self.folder / "half.tif", voxels("<f2"))
        np.testing.assert_array_equal(self.read(self.folder / "half.tif")[0], voxels("<f2"))
        with tifffile.TiffFile(self.folder / "4f4.tif") as file:
            self.assertEqual((file.series[0].axes, file.is_bigtiff, len(file.pages)), ("ZCYX", False, 10))
            self.assertEqual(file.imagej_metadata["znni"], '{"model": "net"}')

    def test_a_large_output_is_a_bigtiff(self):
        with mock.patch.object(tiff, "_MAX_CLASSIC", 100):
            self.check_round_trip(".tif")
        with tifffile.TiffFile(self.folder / "3f4.tif") as file:
            self.assertTrue(file.is_bigtiff)

    def test_geometry_round_trip(self):
        geometry = Geometry((0.04, 0.004, 0.005), (-0.08, 0.008, 0.015), ("micrometer",) * 3)
        self.write(self.folder / "v.tif", voxels(), geometry)
        self.predict(self.folder / "v.tif", self.folder / "out.tif", roi="1:4,2:6,3:7", dtype="uint8")
        found, expected = self.geometry(self.folder / "out.tif"), geometry.moved((1, 2, 3))
        np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-6)
        np.testing.assert_allclose(found.translation, expected.translation, rtol=1e-6)
        self.assertEqual(found.units, expected.units)

    def test_the_offset_of_an_output_without_a_geometry(self):
        self.predict(voxels(), self.folder / "out.tif", roi="1:4,2:6,3:7", dtype="uint8")
        self.assertEqual(self.geometry(self.folder / "out.tif"), Geometry(translation=(1.0, 2.0, 3.0)))

    def test_files_are_closed(self):
        path = self.save(voxels(), compression="zlib")
        source = open_source(path)
        handle = source.raw.file.filehandle
        source.close()
        self.assertTrue(handle.closed)

    def test_complaints_of_tifffile_are_no_lines_of_their_own(self):
        path = self.save(voxels(), metadata=None)
        path.write_bytes(path.read_bytes()[:-50])
        with mock.patch.object(logging, "lastResort") as last:
            self.check_refused(path, "damaged")
        last.handle.assert_not_called()

    def test_without_tifffile(self):
        path = self.save(voxels())
        with mock.patch.dict(sys.modules, {"tifffile": None}):
            with self.assertRaisesRegex(InvalidError, r"files of TIFF need tifffile: pip install 'znni\[files\]'"):
                self.read(path)


if __name__ == "__main__":
    import unittest

    unittest.main()
