"""The metrics that the sources of znnid name: alerts and dashboards may ask for these alone."""

import re


def known_metrics(root):
    """Returns the names of all metrics of znnid and of its process; `root` is the source folder."""
    sources = "".join(path.read_text() for path in (root / "server/metrics").glob("*.cpp"))
    return set(re.findall(r'"((?:znni|process)_\w+)"', sources))
