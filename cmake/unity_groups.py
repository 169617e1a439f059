"""Tells which sources may be compiled as one file. Prints the number of the group of each FILE, with semicolons between
them. What one file keeps to itself, in an unnamed namespace, is not a word of any other in its group, and nothing
that its headers declare: so neither changes the other.
Usage: unity_groups.py LINES FILE...; a group has LINES lines at most, or is one file."""

import functools
import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What stands at the margin of a namespace: types, aliases, and functions or variables by the first word that one of
# ({=;[ follows.
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union|using(?= \w+ =)) (\w+)")
OTHER = re.compile(r"(\w+) ?[({=;\[]")
NOT_DEFINED = re.compile(r"^(?:[\s})#/]|using |namespace |template|static_assert|INSTANTIATE|TEST|.*\boperator\b)")
WORD = re.compile(r"\w+")
# What is not looked up by its name alone: comments, text in quotes, and names behind a dot, an arrow or a namespace of
# others.
NOT_LOOKED_UP = re.compile(
    r"""//[^\n]*|'(?:\\.|[^'\\\n])'|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?:(?<=\w)\.|(?<=[\w)\]])->|(?<!znni)(?<!test)(?<!rpc)::)~?[A-Za-z_]\w*"""
)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def defined_in(line):
    """Returns a match whose first group is the name that a line at the margin defines, or None."""
    return TYPE.match(line) or (line and not NOT_DEFINED.match(line) and OTHER.search(line))


def own_names(text):
    """Names that a source defines in its unnamed namespaces."""
    lines = (line for body in UNNAMED.findall(text) for line in body.split("\n"))
    return {found[1] for line in lines if (found := defined_in(line))}


@functools.cache
def declared_by(header):
    """Returns the names that a header of the project and those it includes declare at their margin."""
    path = ROOT / header
    if not path.is_file():
        return frozenset()  # generated
    text = path.read_text()
    names = {found[1] for line in text.split("\n") if (found := defined_in(line))}
    return frozenset(names.union(*map(declared_by, INCLUDE.findall(text))))


def words_of(text):
    """Names that a source looks up, and those that the headers it includes declare."""
    looked_up = WORD.findall(NOT_LOOKED_UP.sub(" ", text))
    return set(looked_up).union(*map(declared_by, INCLUDE.findall(text)))


class Group:
    """Sources that go together."""

    def __init__(self):
        self.lines, self.names, self.words = 0, set(), set()

    def takes(self, lines, names, words, most):
        """Returns True if a further source fits."""
        return self.lines + lines <= most and not names & self.words and not words & self.names

    def add(self, lines, names, words):
        """Adds a source."""
        self.lines += lines
        self.names |= names
        self.words |= words


def groups_of(texts, most):
    """Returns the number of each source's group."""
    groups, numbers = [], []
    for text in texts:
        source = text.count("\n"), own_names(text), words_of(text)
        fitting = [number for number, group in enumerate(groups) if group.takes(*source, most)]
        if not fitting:
            fitting = [len(groups)]
            groups.append(Group())
        groups[fitting[0]].add(*source)
        numbers.append(fitting[0])
    return numbers


if __name__ == "__main__":
    print(*groups_of([pathlib.Path(name).read_text() for name in sys.argv[2:]], int(sys.argv[1])), sep=";", end="")
