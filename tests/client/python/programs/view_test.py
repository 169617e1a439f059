"""The program znni-view."""

import contextlib
import io
import json
import os
from unittest import mock

import h5py
import numpy as np
from view_case import PageReader, ViewCase, geometry
from znni.programs import view as program

OFFSET = (3, 4, 5)
KINDS = ("{}.npy", "{}.h5:/v", "{}.tif", "{}.nii", "{}.nii.gz", "{}.nrrd", "{}.zarr", "{}.n5/v", "precomputed://{}")


class ProgramTest(ViewCase):
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch("signal.signal"))
        self.page = f"{self.folder}/page.html"
        self.volume = self.random.integers(0, 256, (20, 24, 28)).astype(np.uint8)
        self.part = np.ascontiguousarray(self.volume[3:15, 4:17, 5:19])

    def call(self, *arguments):
        """Returns (exit code, standard output, standard error)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = program.main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), err.getvalue()

    def files(self, kind, its=None):
        """Returns paths of an input and of an output that is a part of it."""
        own = its.moved(OFFSET) if its else None
        notes = {"offset": list(OFFSET)}
        return self.write(kind.format("in"), self.volume, its), self.write(kind.format("out"), self.part, own, notes)

    def read(self):
        with open(self.page, encoding="utf-8") as file:
            return PageReader(file.read())

    def check_placed(self, page):
        """Checks that both volumes are whole, and the output where it belongs."""
        np.testing.assert_array_equal(page.pixels(0), self.volume)
        np.testing.assert_array_equal(page.pixels(1), self.part)
        self.assertEqual([volume["first"] for volume in page.data["volumes"]], [[0, 0, 0], list(OFFSET)])

    def test_all_formats(self):
        for kind in KINDS:
            for its in (None, geometry((40, 8, 8), (400, 0, 80))):
                source, output = self.files(kind, its)
                offset = ("--offset", "3,4,5") if kind.endswith(".npy") else ()
                code, out, err = self.call(output, "--with", source, "-o", self.page, "--overwrite", *offset)
                self.assertEqual(code, 0, err)
                self.assertRegex(out, r"^\S+/page.html: 20x24x28 cells, 0\.\d MB\n$")
                self.check_placed(self.read())

    def test_two_formats(self):
        its = geometry((40, 8, 8), (400, 0, 80))
        source, output = self.files("{}.zarr", its)[0], self.files("{}.nrrd", its)[1]
        self.assertEqual(self.call(output, "--with", source, "-o", self.page)[0], 0)
        self.check_placed(self.read())

    def test_what_is_left_out_is_said(self):
        source, output = self.files("{}.h5:/v")
        options = ("--max-size", "7", "--max-slices", "10", "--downsample", "sample", "--window", "5,95")
        code, out, _ = self.call(output, "--with", source, "-o", self.page, *options)
        self.assertEqual(code, 0)
        words = (
            "not all of 20x24x28 voxels are shown: one of 2 planes and the middle one of 4x4 voxels; --max-slices and"
        )
        self.assertIn(words, out)
        page = self.read()
        self.assertTrue(any(words in text for text in page.texts["li"]))
        np.testing.assert_array_equal(page.pixels(0), self.volume[1::2, 2::4, 2::4])
        expected = tuple(np.percentile(self.volume[1::2], (5, 95)))
        self.assertEqual(tuple(page.data["volumes"][0]["channels"][0]["window"]), expected)

    def test_a_result_of_infer(self):
        _, output = self.files("{}.h5:/v")
        result = self.folder / "result.json"
        result.write_text(json.dumps({"seconds": 8.0, "predicted_seconds": 2.0, "images": 3}))
        self.assertEqual(self.call(output, "-o", self.page, "--run", result)[0], 0)
        self.assertLessEqual({"8 s", "2 s", "net", "3"}, set(self.read().texts["td"]))

    def test_channels_of_an_output(self):
        output = self.write("out.zarr", np.stack([self.part] * 3))
        self.assertEqual(self.call(output, "-o", self.page, "--channels", "2")[0], 0)
        (volume,) = self.read().data["volumes"]
        self.assertEqual([channel["number"] for channel in volume["channels"]], [2])

    def test_a_page_that_is_there_is_kept(self):
        _, output = self.files("{}.npy")
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("mine")
        code, out, err = self.call(output, "-o", self.page)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err, f"znni-view: {self.page}: is there already: pass --overwrite, or name another\n")
        with mock.patch.object(program, "write_page", side_effect=OSError(28, "No space left on device")):
            self.assertEqual(self.call(output, "-o", self.page, "--overwrite")[0], 1)
        with open(self.page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "out.npy", "page.html"])

    def test_wrong_input_is_one_line(self):
        source, output = self.files("{}.npy")
        folder = str(self.folder)
        np.save(f"{folder}/complex.npy", np.zeros((3, 4, 5), complex))
        np.save(f"{folder}/flat.npy", np.zeros((4, 5), np.uint8))
        (self.folder / "text.nrrd").write_text("hello")
        (self.folder / "no.json").write_text("hello")
        with h5py.File(f"{folder}/two.h5", "w") as file:
            file["a"], file["b"] = self.part, self.part
        for words, arguments in (
            ("none.npy: there is no such file", (f"{folder}/none.npy", "-o", self.page)),
            ("complex.npy: voxels of type complex128 found", (f"{folder}/complex.npy", "-o", self.page)),
            ("flat.npy: shape .4, 5. found, expected .Z, Y, X.", (f"{folder}/flat.npy", "-o", self.page)),
            (
                "text.nrrd: first bytes b'hello' found, expected a file of NRRD",
                (f"{folder}/text.nrrd", "-o", self.page),
            ),
            ("two.h5: 2 volumes found, expected a dataset; .* /a, /b", (f"{folder}/two.h5", "-o", self.page)),
            ("page.png: this kind of file found, expected PAGE.html", (output, "-o", f"{folder}/page.png")),
            ("there is no folder .*/none", (output, "-o", f"{folder}/none/page.html")),
            ("no.json: 'hello' found, expected the JSON", (output, "-o", self.page, "--run", f"{folder}/no.json")),
            ("in.npy: 20x24x28 voxels and no offset found", (source, "--with", output, "-o", self.page)),
            (
                "out.npy: lies at z 50 to 62, .*--offset",
                (output, "--with", source, "-o", self.page, "--offset", "50,0,0"),
            ),
            ("out.npy: 1 channels found", (output, "-o", self.page, "--channels", "1")),
        ):
            code, out, err = self.call(*arguments)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            self.assertRegex(err, f"^znni-view: .*{words}")
            self.assertFalse(os.path.exists(self.page))

    def test_wrong_options(self):
        for arguments, words in (
            (("--max-size", "0"), "'0' found, expected a whole number of at least 1"),
            (("--max-slices", "many"), "'many' found, expected a whole number"),
            (("--channels", "1,x"), "'1,x' found, expected numbers from 0 on"),
            (("--offset", "1,2"), "'1,2' found, expected voxels Z,Y,X"),
            (("--offset", "1,2,z"), "'1,2,z' found, expected voxels Z,Y,X"),
            (("--window", "99,1"), "'99,1' found, expected two percentiles"),
            (("--window", "1"), "'1' found, expected two percentiles"),
            (("--downsample", "most"), "invalid choice: 'most'"),
        ):
            code, _, err = self.call("v.npy", "-o", self.page, *arguments)
            self.assertEqual((code, err.count("\n")), (2, 1), err)
            self.assertRegex(err, f"^znni-view: argument {arguments[0]}: .*{words}.*; see znni-view --help\n$")
        self.assertEqual(self.call("v.npy")[0], 2)

    def test_a_volume_that_is_damaged(self):
        output = self.write("out.zarr", self.part)
        for chunk in (path for path in (self.folder / "out.zarr/0").rglob("*") if path.is_file()):
            if not chunk.name.startswith("."):
                chunk.write_bytes(b"nothing")
        code, out, err = self.call(output, "-o", self.page)
        self.assertEqual((code, out), (2, ""))
        self.assertRegex(err.splitlines()[-1], "^znni-view: .*out.zarr: a chunk cannot be decoded")
        self.assertFalse(os.path.exists(self.page))

    def test_interrupted_and_broken(self):
        _, output = self.files("{}.npy")
        for error, code, words in (
            (KeyboardInterrupt(), 130, "znni-view: interrupted; no page was left\n"),
            (RuntimeError("two\nlines"), 1, "znni-view: RuntimeError: two lines\n"),
            (OSError(5, "Input/output error"), 1, "znni-view: [Errno 5] Input/output error\n"),
        ):
            with mock.patch.object(program, "make_page", side_effect=error):
                self.assertEqual(self.call(output, "-o", self.page), (code, "", words))


if __name__ == "__main__":
    import unittest

    unittest.main()
