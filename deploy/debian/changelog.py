"""Prints the releases of CHANGELOG.md as a changelog of a Debian package (deb-changelog(5)).
Usage: changelog.py CHANGELOG.md MAINTAINER, of the form "NAME <ADDRESS>"."""

import datetime
import email.utils
import pathlib
import re
import sys
import textwrap

RELEASE = re.compile(r"^## (\d+\.\d+\.\d+), (\d{4}-\d{2}-\d{2})\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^- (.*?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)


def plain(text):
    """Returns an item without its links and line breaks."""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def entry(version, date, text, maintainer):
    """Returns the lines about one release."""
    lines = [f"znni ({version}) unstable; urgency=medium", ""]
    for item in ITEM.findall(text):
        lines += textwrap.wrap(plain(item), 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False)
    day = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.UTC)
    return [*lines, "", f" -- {maintainer}  {email.utils.format_datetime(day)}"]


def main(path, maintainer):
    releases = RELEASE.findall(pathlib.Path(path).read_text())
    if not releases:
        sys.exit(f"changelog: {path}: no heading '## VERSION, DATE', such as '## 0.2.0, 2026-11-28'")
    print("\n\n".join("\n".join(entry(*release, maintainer)) for release in releases))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: changelog.py CHANGELOG.md MAINTAINER")
    main(*sys.argv[1:])
