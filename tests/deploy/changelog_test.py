"""deploy/debian/changelog.py.
Usage: changelog_test.py DEPLOY-FOLDER."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve() / "debian/changelog.py"
TEXT = """# Changelog

## Unreleased

- Not yet.

## 1.1.0, 2026-11-29

- A thing that wraps over two
  lines ([docs/a.md](docs/a.md#part)).
- Another.

## 1.0.0, 2026-01-02

- The first.
"""
DEBIAN = """znni (1.1.0) unstable; urgency=medium

  * A thing that wraps over two lines (docs/a.md).
  * Another.

 -- A B <a@b.c>  Sun, 29 Nov 2026 00:00:00 +0000

znni (1.0.0) unstable; urgency=medium

  * The first.

 -- A B <a@b.c>  Fri, 02 Jan 2026 00:00:00 +0000
"""


class ChangelogTest(unittest.TestCase):
    def changelog(self, text):
        """Returns the finished process for a CHANGELOG.md of this text."""
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            command = [sys.executable, "-B", SCRIPT, file.name, "A B <a@b.c>"]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_releases_are_entries_in_debians_form(self):
        done = self.changelog(TEXT)
        self.assertEqual((done.returncode, done.stdout), (0, DEBIAN), done.stderr)

    def test_long_items_are_wrapped(self):
        done = self.changelog("## 1.0.0, 2026-01-02\n\n- " + "word " * 60 + "\n")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 78)

    def test_without_a_release_it_says_what_is_expected(self):
        done = self.changelog("# Changelog\n\n## Unreleased\n\n- Not yet.\n")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no heading '## VERSION, DATE'", done.stderr)


if __name__ == "__main__":
    unittest.main()
