"""The program `planner` from outside: the page of --report. Usage: as program_case.py says."""

import html.parser
import json
import re
import shutil
import subprocess

import program_case


class Balanced(html.parser.HTMLParser):
    """Notes tags that are not closed in order, ids, and what would be loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.loaded = [], [], set(), []

    def handle_starttag(self, tag, attrs):
        self.ids.update(value for name, value in attrs if name == "id")
        self.loaded += [value for name, value in attrs if name in ("src", "href", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


class Report(program_case.ProgramCase):
    def test_the_report_is_one_page_that_stands_alone(self):
        page = self.folder / "pages" / "report.html"
        self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--report", page)
        text = page.read_text()
        parser = Balanced()
        parser.feed(text)
        parser.close()
        self.assertEqual(parser.open, [])
        self.assertEqual(parser.wrong, [])
        self.assertLessEqual({"patches", "layers", "timeline", "refused"}, parser.ids)
        charts = self.charts_of(text)
        self.assertEqual(
            [chart["id"] for chart in charts],
            ["patches-memory", "patches-size", "layer-seconds", "layer-bytes", "pass-timeline"],
        )
        self.assertLessEqual({chart["id"] for chart in charts}, parser.ids)
        self.assertRegex(text, r"<dt>Made</dt><dd>20\d\d-\d\d-\d\d \d\d:\d\d UTC by planner \d+\.\d+\.\d+</dd>")
        self.assertIn(f"<code>planner --model {self.small} --mem 3M --threads 1 --report {page}</code>", text)
        self.assertEqual(parser.loaded, [], "nothing comes from elsewhere")
        self.assertIn("default-src 'none'", text)
        plan = json.loads(self.good("--model", self.small, "--mem", "3M", "--threads", 1, "--json"))
        ring = next(own for own in charts[0]["points"]["series"] if own["mark"] == "ring")
        self.assertEqual([point["y"] for point in ring["points"]], [plan["predicted"]["voxels_per_second"]])
        layers = charts[2]["bars"]
        self.assertEqual(layers["labels"], [node["name"] for node in plan["nodes"]])
        self.assertEqual(
            [bar["to"] for bar in layers["series"][0]["bars"]],
            [node["runs"] * node["predicted_seconds"] for node in plan["nodes"]],
        )
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if browser is None:
            self.skipTest("no Chromium here: the page's structure was checked, its rendering was not")
        seen = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--dump-dom",
                f"--user-data-dir={self.folder / 'browser'}",
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        self.assertIn(f'data-drawn="{len(charts)}"', seen)

    @staticmethod
    def charts_of(page):
        """Returns what the script of a page draws."""
        return json.loads(re.search(r'id="charts">(.*?)</script>', page)[1])

    def test_the_report_has_curves_where_they_are_asked_for(self):
        page = self.folder / "report.html"
        self.good(
            "--model",
            self.small,
            "--mem",
            "3M",
            "--threads",
            1,
            "--patience",
            "model",
            "--enable",
            "cpu.conv.direct,cpu.pool.mpf,cpu.pool.max",
            "--report",
            page,
            "--report-curve",
            "2M..4M",
        )
        charts = {chart["id"]: chart for chart in self.charts_of(page.read_text())}
        memory = charts["curve-memory"]["points"]["series"]
        self.assertEqual([own["name"] for own in memory], ["cpu", "baseline", "chosen plan"])
        self.assertEqual(
            [point["x"] for point in memory[0]["points"]], [2 << 20, int((2 << 20) * 2**0.5), 3 << 20, 4 << 20]
        )
        self.assertIn(memory[2]["points"][0]["y"], [point["y"] for point in memory[0]["points"]])
        self.assertGreater(len(charts["curve-size"]["points"]["series"][0]["points"]), 1)

    def test_what_was_measured_stands_beside_what_is_predicted(self):
        page, run = self.folder / "report.html", self.folder / "run.json"
        arguments = ("--model", self.small, "--mem", "3M", "--threads", 1, "--report", page, "--measured", run)
        plan = json.loads(self.good(*arguments[:6], "--json"))
        node = plan["nodes"][0]
        bench = {
            "network": "small",
            "patch": plan["input"][2:],
            "voxels": 50,
            "predicted_seconds": 0.5,
            "runs": [{"kind": "warm", "voxels_per_second": 90}],
            "nodes": [{"name": node["name"], "primitive": node["primitive"], "measured_ms": 1500}],
        }
        run.write_text(json.dumps(bench))
        self.good(*arguments)
        text = page.read_text()
        self.assertIn("<tr><td>znni-bench net</td><td>100</td><td>90</td><td>0.900</td></tr>", text)
        charts = {chart["id"]: chart["bars"] for chart in self.charts_of(text) if "bars" in chart}
        self.assertEqual([own["bars"][0]["to"] for own in charts["measured-rates"]["series"]], [100, 90])
        self.assertEqual(
            charts["layer-seconds"]["series"][1]["bars"], [{"from": 0, "to": 1.5, "text": "1.50 s"}, None, None]
        )
        for wrong, said in (
            ("no", "not JSON"),
            (json.dumps({**bench, "network": "x"}), "measured of network 'x'; the plan is"),
            (json.dumps({**bench, "patch": [1, 1, 1]}), "measured in patches of 1x1x1; the plan's are of"),
        ):
            run.write_text(wrong)
            self.assertIn(f"--measured: {run}: {said}", self.refused(2, *arguments))
        run.unlink()
        self.assertIn(f"--measured: {run}: ", self.refused(2, *arguments))


if __name__ == "__main__":
    program_case.main()
