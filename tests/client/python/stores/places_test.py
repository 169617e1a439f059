"""The folder that a path names."""

import pathlib
import unittest

from znni.stores.place import Folder
from znni.stores.places import place_of
from znni.stores.remote import Remote


class PlacesTest(unittest.TestCase):
    def test_paths_and_addresses(self):
        for path, kind, found in (
            ("a/b/", Folder, "a/b"),
            (pathlib.Path("/a"), Folder, "/a"),
            ("s3://a/b/", Remote, "s3://a/b"),
            ("https://a/b", Remote, "https://a/b"),
        ):
            place = place_of(path)
            self.assertEqual((type(place), place.path), (kind, found))
            self.assertEqual(place.inside("c").path, f"{found}/c")


if __name__ == "__main__":
    unittest.main()
