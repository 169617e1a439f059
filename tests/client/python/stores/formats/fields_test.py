"""Fields of files that describe volumes."""

import math
import unittest

from znni.errors import InvalidError
from znni.stores.formats.fields import (
    NOTES,
    Field,
    all_of,
    check_fields,
    is_extent,
    is_finite,
    is_scale,
    is_text,
    is_whole,
    notes_of,
)


class FieldsTest(unittest.TestCase):
    def test_fields_that_are_wrong_or_missing(self):
        fields = (Field("size", lambda value: all_of(value, is_extent, (3,)), "three numbers"), NOTES)
        check_fields({"size": [1, 2, 3], "more": 5}, fields, "v/info")
        for found, words in (
            ({}, "field 'size' is missing"),
            ({"size": [1, 2]}, r"field 'size': \[1, 2\] found, expected three"),
            ({"size": [1, 2, 3], "znni": 7}, "field 'znni': 7 found, expected an object"),
            ({"size": ["x" * 999]}, r"field 'size': \['x{78} found"),
        ):
            with self.assertRaisesRegex(InvalidError, f"^v/info: {words}"):
                check_fields(found, fields, "v/info")

    def test_numbers_and_texts(self):
        values = (0, 1, -1, 1.5, math.nan, math.inf, True, None, "1", [1], {})
        for is_right, expected in (
            (is_whole, {0, 1, 2}),
            (is_extent, {1}),
            (is_finite, {0, 1, 2, 3}),
            (is_scale, {1, 3}),
            (is_text, {8}),
        ):
            self.assertEqual({at for at, value in enumerate(values) if is_right(value)}, expected, is_right)

    def test_lists(self):
        self.assertTrue(all_of([], is_whole))
        self.assertTrue(all_of([1, 2], is_whole, (2, 3)))
        for value in ("12", 5, None, (1, 2), [1], [1, "2"]):
            self.assertFalse(all_of(value, is_whole, (2, 3)))

    def test_notes(self):
        self.assertEqual(notes_of({"a": 1}), {"a": 1})
        self.assertEqual(notes_of('{"a": 1}'), {"a": 1})
        for other in (None, 3, [1], "", "[1]", "words", '{"a": '):
            self.assertIsNone(notes_of(other))


if __name__ == "__main__":
    unittest.main()
