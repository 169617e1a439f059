"""Plans of one network in all kinds: patches and streams along each axis, drawn at random, for any volume or closed for
one, and the whole volume at once."""

import pathlib
import re
import subprocess

MEMORY = "512M"
PATCHES = 5  # at least, for any volume, and as many for one
LONGEST = "0.05s"  # of a patch


def text_of(extent):
    """Returns "Z,Y,X"."""
    return ",".join(map(str, extent))


class Planner:
    """The planner for one network's file, whose plans go into a folder."""

    def __init__(self, program, model, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.options = ["--model", model, "--mem", MEMORY, "--threads", "1", "--patience", "model"]

    def run(self, *words):
        """Runs the planner. Fails with what it says."""
        command = [str(word) for word in (self.program, *words, *self.options)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")

    def planned(self, name, *options):
        """Returns the plan that is predicted to be fastest."""
        path = self.folder / f"{name}.pbtxt"
        self.run(*options, "--output", path)
        return path.read_text()

    def drawn(self, name, count, seed, *options):
        """Returns plans drawn at random."""
        folder = self.folder / name
        self.run("draw", "--count", count, "--seed", seed, "--max-seconds", LONGEST, *options, "--output", folder)
        return [path.read_text() for path in sorted(folder.glob("random-*.pbtxt"))]


def first_rung(plan):
    """Returns the text of the first rung of a plan."""
    return plan.split("\nrung {", 1)[1].split("\nrung {", 1)[0]


def kind_of(plan):
    """Returns what the first rung is, such as "stream along y, closed x"."""
    rung = first_rung(plan)
    axis, closed = ((re.search(rf"^  {name}: (.*)$", rung, re.MULTILINE) or ["", ""])[1] for name in ("axis", "closed"))
    how = f"stream along {'zyx'[int(axis or 0)]}" if "\n  streamed: true" in rung else "patch"
    return f"{how}, closed {closed.strip(chr(34))}" if closed else how


def chosen(plans):
    """Returns one plan of each kind, and more patches, as [(kind, plan)]."""
    first = {kind_of(plan): plan for plan in reversed(plans)}
    more = [plan for plan in plans if plan not in first.values() and kind_of(plan).startswith("patch")]
    return [*first.items(), *((kind_of(plan), plan) for plan in more[:PATCHES])]


def plans_of(planner, volume, count, seed):
    """Returns [(kind, plan)]: of `count` that are drawn, twice, one of each kind and a few more."""
    closed = ["--volume", text_of(volume)]
    untiled = planner.planned("untiled", *closed, "--no-stream")
    extents = re.search(r"^  pass_input: \[([^\]]*)\]", first_rung(untiled), re.MULTILINE)[1]
    as_large = ["--max-extent", max(map(int, extents.split(",")))]
    return [
        ("untiled", untiled),
        ("fastest", planner.planned("fastest", *as_large)),
        *chosen(planner.drawn("any", count, seed, *as_large)),
        *chosen(planner.drawn("closed", count, seed, *as_large, *closed)),
    ]
