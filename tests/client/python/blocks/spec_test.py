"""The file of a job."""

import dataclasses
import json

from job_case import JobCase
from znni.blocks.spec import read_spec, to_json
from znni.errors import InvalidError, NotFoundError


class SpecTest(JobCase):
    def setUp(self):
        super().setUp()
        self.spec = self.plan()
        self.path = self.folder / "job.json"

    def test_what_is_written_is_read(self):
        self.path.write_text(to_json(self.spec))
        self.assertEqual(read_spec(self.path), self.spec)

    def test_a_job_of_an_older_version(self):
        fields = json.loads(to_json(self.spec))
        del fields["planned"]
        for name in ("start_seconds", "measured", "memory_bytes"):
            del fields["predicted"][name]
        self.path.write_text(json.dumps(fields))
        found = read_spec(self.path)
        self.assertEqual((found.planned, found.grid), (None, self.spec.grid))
        self.path.write_text(to_json(dataclasses.replace(self.spec, planned=(9, 8, 7))))
        self.assertEqual(read_spec(self.path).planned, (9, 8, 7))

    def test_a_copy_lies_beside_the_output(self):
        for path in (self.spec.output, self.spec.output + "/", self.spec.output + ".job/job.json"):
            self.assertEqual(read_spec(path), self.spec)

    def refuse(self, words, text):
        self.path.write_text(text)
        with self.assertRaisesRegex(InvalidError, f"job.json: .*{words}"):
            read_spec(self.path)

    def test_a_file_that_is_cut_short(self):
        text = to_json(self.spec)
        for count in (0, 1, len(text) // 2, len(text) - 3):
            self.refuse("cut short", text[:count])
        with self.assertRaises(NotFoundError):
            read_spec(self.folder / "none.json")

    def test_fields_that_are_wrong(self):
        fields = json.loads(to_json(self.spec))
        for name, value, words in (
            ("block", [64, 64], "'block'"),
            ("block", [0, 64, 64], "at least 1"),
            ("origin", [0, -1, 0], "'origin'"),
            ("output_extent", [1, True, 1], "'output_extent'"),
            ("output", 7, "'output'"),
            ("planned", [1, 2], "'planned'"),
            ("znni_job", 2, "no job of format 1"),
            ("more", 1, "'more' is unknown"),
        ):
            self.refuse(words, json.dumps({**fields, name: value}))
        del fields["pad"]
        self.refuse("'pad' is missing", json.dumps(fields))
        self.refuse("no job", "[1, 2]")


if __name__ == "__main__":
    import unittest

    unittest.main()
