"""The kind of a file by its name and its first bytes."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from znni.errors import AccessError, InvalidError, NotFoundError
from znni.stores.formats.files import check_format, format_found, kind_of_file, module_of, unreadable


class FilesTest(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "v"

    def test_names(self):
        for name, kind in (
            ("a.tif", "tiff"),
            ("a.TIFF", "tiff"),
            ("a.nii", "nifti"),
            ("a.NII.gz", "nifti"),
            ("a.nrrd", "nrrd"),
            ("a.nhdr", "nrrd"),
            ("a.gz", ""),
            ("tif", ""),
            ("a.tif/b", ""),
        ):
            self.assertEqual(kind_of_file(name), kind)

    def test_first_bytes(self):
        self.assertEqual(format_found(bytes(344) + b"n+1\0"), "NIfTI")
        self.assertEqual(format_found(b"\x1c\2\0\0n+2\0\r\n\x1a\n"), "NIfTI")
        self.assertEqual(format_found(b"MM\0+"), "TIFF")
        self.assertEqual((format_found(b""), format_found(b"MM")), ("", ""))

    def test_checks(self):
        with self.assertRaisesRegex(NotFoundError, "v: there is no such file"):
            check_format(str(self.path), "TIFF")
        with self.assertRaisesRegex(InvalidError, "a folder found, expected a file of TIFF"):
            check_format(str(self.path.parent), "TIFF")
        self.path.write_bytes(b"NRRD0004")
        check_format(str(self.path), "NRRD")
        with self.assertRaisesRegex(InvalidError, "v: a file of NRRD found, expected one of TIFF: name it FILE.nrrd$"):
            check_format(str(self.path), "TIFF")

    @unittest.skipIf(os.geteuid() == 0, "root reads all files")
    def test_a_file_that_must_not_be_read(self):
        self.path.touch(0o200)
        with self.assertRaises(AccessError):
            check_format(str(self.path), "TIFF")

    def test_a_missing_package(self):
        with mock.patch.dict(sys.modules, {"nrrd": None}):
            with self.assertRaisesRegex(InvalidError, r"^files of NRRD need pynrrd: pip install 'znni\[files\]'$"):
                module_of("nrrd")

    def test_an_old_package(self):
        for version in ("2024.8.28", "2023.12.9"):
            with mock.patch("importlib.metadata.version", return_value=version):
                with self.assertRaisesRegex(InvalidError, f"^tifffile {version} found, expected 2024.8.30 or newer"):
                    module_of("tiff")

    def test_errors_of_packages_are_one_line(self):
        self.assertEqual(str(unreadable("v", "TIFF", ValueError("a\n  b"))), "v: no file of TIFF, or damaged: a b")
        self.assertIn("KeyError", str(unreadable("v", "TIFF", KeyError())))


if __name__ == "__main__":
    unittest.main()
