"""The plots of deploy/bench. Usage: bench_plots_test.py FOLDER-OF-BENCH_PLOTS."""

import math
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1))))
import bench_plots as plots  # found where the argument says

SVG = "{http://www.w3.org/2000/svg}"


class PlotsTest(unittest.TestCase):
    def test_bars_are_logarithmic_and_labelled(self):
        picture = plots.bars([("a < b", 10.0), ("c", 100.0), ("d", 0.5)])
        root = xml.etree.ElementTree.fromstring(picture)
        bars = [bar for bar in root.iter(SVG + "rect") if bar.get("y")]
        widths = [float(bar.get("width")) for bar in bars]
        decade = widths[1] - widths[0]
        self.assertAlmostEqual(widths[0] - widths[2], decade * math.log10(20), delta=0.2)
        self.assertNotEqual(bars[0].get("fill"), bars[2].get("fill"))
        (line,) = root.iter(SVG + "line")
        self.assertAlmostEqual(float(line.get("x1")) - float(bars[0].get("x")), widths[0] - decade, delta=0.2)
        for part in ("&lt;", ">10.00<", ">0.50<"):
            self.assertIn(part, picture)

    def test_curves_have_every_point(self):
        picture = plots.curves({"one": [(1, 1000), (2, 10000), (16, 100000)], "two": [(1, 2000)]}, "GiB", "rate")
        root = xml.etree.ElementTree.fromstring(picture)
        dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(SVG + "circle")]
        self.assertEqual(len(dots), 4)
        self.assertAlmostEqual(dots[0][1] - dots[1][1], dots[1][1] - dots[2][1], delta=0.2)
        self.assertAlmostEqual((dots[2][0] - dots[0][0]) / (dots[1][0] - dots[0][0]), 4, delta=0.05)
        for part in ("GiB", "rate", "one", "100 k", ">16<"):
            self.assertIn(part, picture)

    def test_nothing_to_plot_is_a_sound_picture(self):
        for picture in (plots.bars([]), plots.curves({}, "x", "y")):
            xml.etree.ElementTree.fromstring(picture)


if __name__ == "__main__":
    unittest.main()
