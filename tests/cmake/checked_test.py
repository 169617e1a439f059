"""In the preset dev all sources of the product are compiled with the address sanitizer, also where a test compiles
them. Usage: checked_test.py BUILD-FOLDER SOURCE-FOLDER."""

import json
import pathlib
import re
import sys
import unittest

BUILD, ROOT = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
UNCHECKED = {"start_check_x86.cpp"}  # runs before main, on any processor


def sources_of(file):
    """Returns the sources that a file in the build folder includes as one, or the file itself."""
    if BUILD not in file.parents:
        return [file]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(/.*\.(?:cpp|cu))"', file.read_text(), re.M)]


def unchecked(commands):
    """Returns the sources of the product that a command compiles without the address sanitizer."""
    for command in commands:
        if "-fsanitize=address" in command["command"] or "-fsanitize=all" in command["command"]:
            continue
        for source in sources_of(pathlib.Path(command["file"]).resolve()):
            inside = ROOT in source.parents and BUILD not in source.parents
            if inside and source.relative_to(ROOT).parts[0] != "tests" and source.name not in UNCHECKED:
                yield str(source.relative_to(ROOT))


class CheckedTest(unittest.TestCase):
    def test_no_source_of_the_product_is_left_out(self):
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        self.assertGreater(len(commands), 100)
        self.assertEqual(sorted(unchecked(commands)), [])

    def test_what_is_left_out_is_named(self):
        source = ROOT / "primitives/core/gradient.cpp"
        self.assertEqual(
            list(unchecked([{"command": "c++ -c", "file": str(source)}])), ["primitives/core/gradient.cpp"]
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
