"""What is known about a run."""

import json

from view_case import ViewCase
from znni.errors import InvalidError, NotFoundError
from znni.viewing.run_result import read_result, run_facts

RESULT = {"output": "o.npy", "extent": [4, 5, 6], "seconds": 2.5, "predicted_seconds": 1, "voxels_per_second": 48.0}


class RunResultTest(ViewCase):
    def result(self, text):
        path = self.folder / "result.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def test_a_file(self):
        for text in (json.dumps(RESULT), json.dumps(RESULT, indent=2), "a line before\n" + json.dumps(RESULT) + "\n"):
            self.assertEqual(read_result(self.result(text)), RESULT)

    def test_other_files(self):
        for text, found in (("", "no text"), ("[1]", r"'\[1\]'"), ("words\n", "'words'"), (b"\xff\xfe", "no text")):
            path = self.result(text)
            with self.assertRaisesRegex(
                InvalidError, f"^{path}: {found} found, expected the JSON object that 'znni infer"
            ):
                read_result(path)
        with self.assertRaisesRegex(NotFoundError, "none.json: there is no such file"):
            read_result(f"{self.folder}/none.json")
        with self.assertRaisesRegex(InvalidError, "no text found"):
            read_result(str(self.folder))

    def test_seconds_and_others(self):
        facts = run_facts(RESULT)
        self.assertEqual(facts.seconds, {"seconds": 2.5, "predicted_seconds": 1.0})
        self.assertEqual(facts.others, {"output": "o.npy", "extent": "4, 5, 6", "voxels_per_second": "48"})

    def test_stages(self):
        facts = run_facts({"seconds": 3, "stages": {"read": 1.0, "compute": 2, "lost": "?"}})
        self.assertEqual(facts.seconds, {"seconds": 3.0, "read": 1.0, "compute": 2.0})
        self.assertEqual(facts.others, {})

    def test_what_is_no_time(self):
        facts = run_facts({"seconds": "many", "predicted_seconds": -1, "stages": 7, "deep": {"a": [1, {}]}, "on": True})
        self.assertEqual(facts.seconds, {})
        self.assertEqual(
            facts.others, {"seconds": "many", "predicted_seconds": "-1", "deep": '{"a": [1, {}]}', "on": "true"}
        )


if __name__ == "__main__":
    import unittest

    unittest.main()
