"""Pages in a browser: Chromium moves the slider, and the pictures become those of other slices."""

import json
import re
import shutil
import subprocess
import unittest

import numpy as np
from view_case import ArrayOfNumbers, PageReader, ViewCase, geometry
from znni.viewing.making import View, make_page
from znni.viewing.page import write_page

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
OFFSET = (3, 4, 5)
BACKGROUND = (36, 39, 45)
# Runs STEPS, which set controls, look at pictures and add to `found`, and writes that into the page.
SCRIPT = """
<pre id="found"></pre>
<script>
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
function set(id, value, kind = "input") {
  document.getElementById(id).value = value;
  document.getElementById(id).dispatchEvent(new Event(kind));
}
function look(id) {
  const canvas = document.getElementById(id);
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return {extent: [canvas.height, canvas.width], bytes: Array.from(data)};
}
(async () => {
  while (!document.body.dataset.ready) await pause(10);
  const found = [];
  STEPS
  document.getElementById("found").textContent = JSON.stringify(found);
})();
</script>
</body>"""


@unittest.skipUnless(BROWSER, f"no Chromium found on the PATH, as one of {', '.join(NAMES)}: pages are not looked at")
class BrowserTest(ViewCase):
    def setUp(self):
        super().setUp()
        self.volume = self.random.integers(0, 256, (1, 10, 16, 18)).astype(np.uint8)
        self.part = self.random.integers(0, 256, (2, 6, 9, 7)).astype(np.uint8)
        notes = {"offset": list(OFFSET)}
        self.its = ArrayOfNumbers(self.volume, geometry=geometry((3, 1, 1)))
        self.own = ArrayOfNumbers(self.part, geometry=self.its.geometry.moved(OFFSET), notes=notes)

    def run_steps(self, steps, source=True, **wishes):
        """Returns what steps in the browser found, in the page of the output beside the input, or of it alone."""
        page = make_page(self.own, self.its if source else None, View(**wishes), None, False)
        path = self.folder / "page.html"
        with open(path, "w", encoding="utf-8") as file:
            write_page(page, file)
        path.write_text(path.read_text().replace("</body>", SCRIPT.replace("STEPS", steps)))
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={self.folder}/browser", "--virtual-time-budget=30000", "--dump-dom", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=500)
        found = PageReader(done.stdout).texts.get("pre")
        self.assertTrue(found, done.stderr)
        return json.loads(found[0])

    @staticmethod
    def picture(found):
        """Returns [rows, columns, red green blue]."""
        return np.array(found["bytes"], np.uint8).reshape(*found["extent"], 4)[..., :3].astype(int)

    @staticmethod
    def grey(array, window):
        low, high = (round(value) for value in window)
        share = np.clip((array.astype(float) - low) / (high - low), 0, 1)
        return np.repeat((255 * share)[..., None], 3, axis=-1)

    def expected(self, plane, at, channel=0):
        """Returns the pictures of input and output in the plane across an axis, at a voxel of the input."""
        axis = "zyx".index(plane)
        window = [np.percentile(array, (0.5, 99.5)) for array in (self.volume[0], self.part[channel])]
        its = self.grey(self.volume[0].take(at, axis), window[0])
        own = np.tile(np.array(BACKGROUND, float), (*its.shape[:2], 1))
        first, inner = [n for i, n in enumerate(OFFSET) if i != axis], at - OFFSET[axis]
        if 0 <= inner < self.part.shape[1 + axis]:
            part = self.grey(self.part[channel].take(inner, axis), window[1])
            own[first[0] : first[0] + part.shape[0], first[1] : first[1] + part.shape[1]] = part
        return its, own

    def check(self, found, expected):
        np.testing.assert_allclose(self.picture(found), expected, atol=0.51)

    def test_the_slider_moves_through_the_slices(self):
        found = self.run_steps(
            """for (let z = 0; z < 10; ++z) {
                 set("position", z);
                 found.push(look("input"), look("output"), document.getElementById("where").textContent);
               }"""
        )
        for z in range(10):
            for seen, expected in zip(found[3 * z :], self.expected("z", z)):
                self.check(seen, expected)
            self.assertEqual(found[3 * z + 2], f"z {z} ({3 * z} nanometer)")
        self.assertNotEqual(found[0], found[3])

    def test_planes_across_other_axes(self):
        for plane, at in (("y", 7), ("x", 11)):
            found = self.run_steps(
                f"""set("plane", "{plane}", "change");
                    set("position", {at});
                    found.push(look("input"), look("output"), document.getElementById("input").style.aspectRatio);"""
            )
            for seen, expected in zip(found, self.expected(plane, at)):
                self.check(seen, expected)
            rows, columns = found[0]["extent"]
            self.assertAlmostEqual(float(found[2].split("/")[0]), columns / (3 * rows), places=4)

    def test_overlay_and_channel(self):
        found = self.run_steps(
            """set("position", 5);
               set("opacity", 0);
               found.push(look("overlay"));
               set("opacity", 100);
               set("colour", "#00ff00");
               found.push(look("overlay"));
               const before = String(look("output").bytes);
               set("channel", 1, "change");
               while (String(look("output").bytes) === before) await pause(10);
               found.push(look("output"));"""
        )
        its, own = self.expected("z", 5)
        self.check(found[0], its)
        is_output = np.any(own != BACKGROUND, axis=-1, keepdims=True) | np.zeros_like(own, bool)
        weight = np.where(is_output, own / 255, 0)
        self.check(found[1], its * (1 - weight) + np.array([0, 255, 0]) * weight)
        self.check(found[2], self.expected("z", 5, channel=1)[1])

    def test_the_window(self):
        found = self.run_steps(
            """set("position", 5);
               set("output-low", 100);
               set("output-high", 150);
               found.push(look("output"), look("input"));"""
        )
        self.check(found[1], self.expected("z", 5)[0])
        inside = self.picture(found[0])[4:13, 5:12]
        np.testing.assert_allclose(inside, self.grey(self.part[0, 2], (100, 150)), atol=0.51)

    def test_what_is_said_of_a_cell(self):
        found = self.run_steps(
            """set("position", 3);
               found.push(document.getElementById("where").textContent);
               set("position", 1);
               const canvas = document.getElementById("output");
               const box = canvas.getBoundingClientRect();
               const at = {clientX: box.left + 3.5 * box.width / 9, clientY: box.top + 2.5 * box.height / 8};
               canvas.dispatchEvent(new MouseEvent("mousemove", at));
               found.push(document.getElementById("under").textContent);""",
            max_size=9,
            max_slices=4,
        )
        self.assertEqual(found[0], "z 9 (27 nanometer)")
        place, its, own = re.fullmatch(r"(.*), input (.*), output (.*)", found[1]).groups()
        self.assertEqual(place, "z 4 (12 nanometer), y 4-5 (4.5 nanometer), x 6-7 (6.5 nanometer)")
        self.assertAlmostEqual(float(its), self.volume[0, 4, 4:6, 6:8].mean(), delta=0.51)
        self.assertAlmostEqual(float(own), self.part[0, 1, 0:2, 1:3].mean(), delta=0.51)

    def test_an_output_alone(self):
        found = self.run_steps(
            """set("position", 1);
               found.push(look("output"), document.querySelectorAll("#panes canvas").length);""",
            source=False,
        )
        expected = self.grey(self.part[0, 1], np.percentile(self.part[0], (0.5, 99.5)))
        self.check(found[0], expected)
        self.assertEqual(found[1], 1)


if __name__ == "__main__":
    unittest.main()
