"""Tells which sources may be compiled as one file. Prints the number of the group of each FILE, with semicolons between
them. A source goes to the end of the first group in which it means what it means alone, and in which nothing changes
for it or for the headers that it is the first to include. What stands before it in the group never sees it.
Usage: unity_groups.py LINES FILE...; a group has LINES lines at most, or is one file."""

import dataclasses
import functools
import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What stands at the margin of a namespace: types, aliases, and functions or variables by the first word that one of
# ({=;[ follows.
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union|using(?= \w+ =)) (\w+)")
OTHER = re.compile(r"(\w+) ?[({=;\[]")
NOT_DEFINED = re.compile(
    r"^(?:[\s})#/]|using |namespace |template|static_assert|INSTANTIATE|(?:TYPED_)?TEST|.*\boperator\b)"
)
# What names of other namespaces a source takes over, or those of an enumeration.
TAKEN_OVER = re.compile(r"^using (?:\w*::)+(\w+);", re.MULTILINE)
ENUMERATION = re.compile(r"^using enum ", re.MULTILINE)
WORD = re.compile(r"\w+")
# What is not looked up by its name alone: comments, text in quotes, and names behind a dot, an arrow or a namespace of
# others.
NOT_LOOKED_UP = re.compile(
    r"""//[^\n]*|'(?:\\.|[^'\\\n])'|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?:(?<=[\w{ ,(])\.(?!\.)|(?<=[\w)\]])->|(?<!znni)(?<!test)(?<!rpc)::)~?[A-Za-z_]\w*"""
)
# What may be a function: a name before an argument list or behind an ampersand.
CALLED = re.compile(r"(\w+) ?(?:<[^;{}()]*>)?\(|&(\w+)")
# What may be a variable of a function's body: a name between its type and what ends it, or in brackets behind `auto`.
# Before one looks for them, parameters of functions without a body go, and members of types.
LOCAL = re.compile(r"(?:[\w>&*]\s+|[&*])([a-z_]\w*)\s*[=;,){:\[(]")
BINDINGS = re.compile(r"auto[ &]*\[([^\]]*)\]")
PARAMETERS = re.compile(r"\([^(){}]*\)(?: const| noexcept| override)*(?: = 0| = default| = delete)?;")
DEFINED_TYPE = re.compile(r"^(?:struct|class)[^;{]*\{$.*?^\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^  [^ (][^(\n]*;$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def looked_up(text):
    """Returns the text without what is not looked up."""
    return NOT_LOOKED_UP.sub(" ", text)


def called(text):
    """Returns the names of what may be functions in a text without what is not looked up."""
    return frozenset(before or behind for before, behind in CALLED.findall(text))


@dataclasses.dataclass
class Names:
    """Names that are defined: of functions, of variables and types, and of aliases, each with its line."""

    functions: set = dataclasses.field(default_factory=set)
    others: set = dataclasses.field(default_factory=set)
    aliases: dict = dataclasses.field(default_factory=dict)

    def all(self):
        """Returns them all."""
        return self.functions | self.others | self.aliases.keys()

    def add(self, names):
        """Adds those of a further source."""
        self.functions |= names.functions
        self.others |= names.others
        self.aliases |= names.aliases


def defined_in(line):
    """Returns a match whose first group is the name that a line at the margin defines, or None."""
    return TYPE.match(line) or (line and not NOT_DEFINED.match(line) and OTHER.search(line))


def is_function(line, found):
    """Returns True if the line begins a function with a body: `const Part part(1);` is a variable."""
    arguments = line[found.end(1) :].lstrip().startswith("(")
    return arguments and not TYPE.match(line) and not line.endswith(";")


def names_in(text):
    """Returns the names that the lines at the margin define."""
    names = Names()
    for line in text.split("\n"):
        found = defined_in(line)
        if not found:
            continue
        if line.startswith("using "):
            names.aliases[found[1]] = line
        elif is_function(line, found):
            names.functions.add(found[1])
        else:
            names.others.add(found[1])
    return names


def own_names(text):
    """Returns the names that a source defines in its unnamed namespaces."""
    return names_in("\n".join(UNNAMED.findall(text)))


@functools.cache
def with_included(header):
    """Returns the header and those that it includes, as far as they are the project's and not generated."""
    path = ROOT / header
    return frozenset({header}).union(*map(with_included, includes(path.read_text()))) if path.is_file() else frozenset()


def includes(text):
    """Returns the names of the project's headers in a source's own lines."""
    return INCLUDE.findall(text)


@functools.cache
def declared_by(header):
    """Returns the names that a header declares at its margin."""
    return frozenset(names_in((ROOT / header).read_text()).all())


@functools.cache
def called_by(header):
    """Returns the names of what may be functions in a header."""
    return called(looked_up((ROOT / header).read_text()))


@functools.cache
def locals_of(header):
    """Returns the names of what may be variables in the functions of a header."""
    text = PARAMETERS.sub(";", looked_up((ROOT / header).read_text()))
    text = DEFINED_TYPE.sub(lambda found: MEMBER.sub("", found[0]), text)
    bound = (WORD.findall(names) for names in BINDINGS.findall(text))
    return frozenset(LOCAL.findall(text)).union(*bound)


def over(headers, of_header):
    """Returns all names that a function of a header gives for these."""
    return set().union(*map(of_header, headers))


class Source:
    """What a source defines and what it looks up."""

    def __init__(self, text):
        self.lines = text.count("\n")
        self.own, self.outer = own_names(text), names_in(UNNAMED.sub("", text))
        self.headers = frozenset().union(*map(with_included, includes(text)))
        self.words = set(WORD.findall(looked_up(text)))
        # A function that a header declares may be handed on by its name.
        self.called = called(looked_up(text)) | (self.words & over(self.headers, declared_by))
        self.taken_over = set(TAKEN_OVER.findall(text))
        # An enumeration's names are among its words.
        self.given = self.taken_over | (self.words if ENUMERATION.search(text) else set())


class Group:
    """Sources that go together."""

    def __init__(self):
        self.lines, self.own, self.outer, self.headers, self.given = 0, Names(), Names(), frozenset(), set()

    def takes(self, source, most):
        """Returns True if a further source fits."""
        return self.lines + source.lines <= most and not any(self.clashes(source))

    def add(self, source):
        """Adds a source."""
        self.lines += source.lines
        self.own.add(source.own)
        self.outer.add(source.outer)
        self.headers |= source.headers
        self.given |= source.given

    def clashes(self, source):
        """Yields sets of names that the source, or headers that no other included, would take for others."""
        repeated = {name for name, line in source.own.aliases.items() if self.own.aliases.get(name) == line}
        mine, fresh = self.own.all(), source.headers - self.headers
        yield source.own.all() & mine - repeated
        yield source.own.all() & (self.given | self.outer.all() | over(self.headers - source.headers, declared_by))
        yield source.taken_over & mine
        yield self.own.functions & (source.called | over(fresh, called_by))
        yield mine & over(fresh, declared_by)
        yield (mine - self.own.functions - repeated) & source.words
        # A variable of a function hides one of the namespace, of which the compiler warns.
        yield (self.outer.others - source.outer.others) & source.words
        yield (self.own.others | self.outer.others) & over(fresh, locals_of)


def groups_of(texts, most):
    """Returns the number of each source's group."""
    groups, numbers = [], []
    for source in map(Source, texts):
        fitting = [number for number, group in enumerate(groups) if group.takes(source, most)]
        if not fitting:
            fitting = [len(groups)]
            groups.append(Group())
        groups[fitting[0]].add(source)
        numbers.append(fitting[0])
    return numbers


if __name__ == "__main__":
    print(*groups_of([pathlib.Path(name).read_text() for name in sys.argv[2:]], int(sys.argv[1])), sep=";", end="")
