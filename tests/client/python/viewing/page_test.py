"""The page: what is in it, as other programs take it apart."""

import io
import re
import unittest

import numpy as np
from view_case import PageReader
from znni.viewing.grid import Axis
from znni.viewing.levels import Levels
from znni.viewing.page import Channel, Page, Shown, Space, write_page
from znni.viewing.run_result import RunFacts

BAD = '</script><script>alert("1")</script>&amp;<!--'


class PageTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(6)

    def volume(self, role, first, shape, count=1, name="v.npy"):
        levels = Levels(0.0, 255.0, (10.0, 200.0), (1, 2, 3))
        channels = [Channel(at, levels, self.random.integers(0, 256, shape).astype(np.uint8)) for at in range(count)]
        return Shown(role, name, first, channels, {"file": name, "field_of_view": "5"})

    def page(self, *volumes, title="a title", seconds=None, notes=(), unit="nanometer"):
        axes = [Axis(0, 2, 6, 11), Axis(0, 1, 9, 9), Axis(-1, 1, 9, 9)]
        space = Space(axes, (4.0, 1.0, 1.0), (8.0, 0.0, 0.0), (unit,) * 3)
        file = io.StringIO()
        write_page(Page(title, space, volumes, RunFacts(seconds or {}, {"model": "net"}), notes), file)
        return file.getvalue()

    def test_all_pictures_are_in_it(self):
        volumes = self.volume("input", (0, 0, 1), (6, 9, 8)), self.volume("output", (1, 2, 3), (4, 5, 4), 2)
        page = PageReader(self.page(*volumes))
        for at, volume in enumerate(volumes):
            told = page.data["volumes"][at]
            self.assertEqual((told["role"], tuple(told["first"])), (volume.role, volume.first))
            self.assertEqual(told["shape"], list(volume.channels[0].pixels.shape))
            for channel, each in enumerate(volume.channels):
                np.testing.assert_array_equal(page.pixels(at, channel), each.pixels)
                self.assertEqual(told["channels"][channel]["number"], channel)
                self.assertEqual(told["channels"][channel]["window"], [10.0, 200.0])
                self.assertEqual(told["channels"][channel]["histogram"], [1, 2, 3])

    def test_space(self):
        space = PageReader(self.page(self.volume("output", (0, 0, 0), (6, 9, 9)))).data["space"]
        self.assertEqual((space["begin"], space["step"], space["count"]), ([0, 0, -1], [2, 1, 1], [6, 9, 9]))
        self.assertEqual((space["extent"], space["size"], space["origin"]), ([11, 9, 9], [4.0, 1.0, 1.0], [8.0, 0, 0]))

    def test_it_needs_no_other_file(self):
        text = self.page(self.volume("output", (0, 0, 0), (6, 9, 9)))
        page = PageReader(text)
        self.assertEqual(page.addresses, [])
        self.assertEqual(re.findall(r"https?://|@import|url\(|import\s*\(|fetch\(|XMLHttpRequest", text), [])
        self.assertRegex(
            text, r"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
        )
        self.assertNotIn("{{", text)

    def test_texts(self):
        text = self.page(
            self.volume("output", (0, 0, 0), (6, 9, 9)), seconds={"predicted_seconds": 2.0, "seconds": 8.0}
        )
        page = PageReader(text)
        self.assertEqual((page.texts["title"], page.texts["h1"]), (["a title"], ["a title"]))
        self.assertLessEqual({"v.npy", "net", "2 s", "8 s"}, set(page.texts["td"]))
        self.assertLessEqual({"field of view", "model", "predicted seconds"}, set(page.texts["th"]))
        self.assertEqual(re.findall(r"width: ([0-9.]+)%", text.split("</style>")[1]), ["25.0", "100.0"])
        self.assertNotIn("times", PageReader(self.page(self.volume("output", (0, 0, 0), (6, 9, 9)))).texts["h2"])

    def test_names_cannot_break_out(self):
        volume = self.volume("output", (0, 0, 0), (6, 9, 9), name=BAD)
        text = self.page(volume, title=BAD, notes=[BAD], seconds={BAD: 1.0}, unit=BAD)
        page = PageReader(text)
        self.assertEqual(len(page.texts["script"]), 2)
        self.assertEqual(page.texts["title"], [BAD])
        self.assertIn(BAD, page.texts["td"])
        self.assertEqual(page.data["space"]["units"], [BAD] * 3)
        self.assertEqual(text.count("</script>"), 2)

    def test_names_that_are_no_text(self):
        self.page(self.volume("output", (0, 0, 0), (6, 9, 9), name="v\udcff.npy"), title="v\udcff").encode()


if __name__ == "__main__":
    unittest.main()
