"""No #if, no macros, no file over 400 lines, no function over 60, no unfinished work; texts within 120 columns; one
version; in headers the comment of a function begins with a verb, and sentences are short; folders have a README, and
at most 30 sources, headers not counted."""

import collections
import pathlib
import re
import sys

import tree

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONGEST_LINE = 120
MOST_SOURCES = 30  # of a folder
LONGEST_SENTENCE = 25  # words, up to a full stop, a colon or a semicolon
TEXTS = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs")
VERSIONS = {
    "CMakeLists.txt": re.compile(r"^project\(znni VERSION ([0-9.]+) ", re.MULTILINE),
    "primitives/core/version.hpp": re.compile(
        r'^inline constexpr std::string_view project_version = "([0-9.]+)";$', re.MULTILINE
    ),
    "client/python/znni/__init__.py": re.compile(r'^__version__ = "([0-9.]+)"$', re.MULTILINE),
}
DIRECTIVE = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|define|undef)\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
# A function's closing brace stands where its first line began: at the margin, or two columns in for members.
OPENING = re.compile(r"^( {0,2})[A-Za-z_:~\[].*[)a-z_>&0-9] \{$")
NOT_FUNCTIONS = re.compile(r"^\s*(namespace|struct|class|enum|union|extern|using)\b|=\s*\{$")
# Words by which comments of functions once began as fragments, without a verb: "Of the part's planes".
FRAGMENTS = set("Of Whether Those Where Which What That As For With Without By Why How When Than The Its Their".split())
NOT_DECLARATIONS = re.compile(
    r"\s*(struct|class|enum|union|using|namespace|static_assert|return|if|for|while|switch|throw|delete)\b"
)


def line_problems(path, lines):
    """Yields directives and unfinished work, line by line."""
    for number, line in enumerate(lines, 1):
        if DIRECTIVE.match(line):
            yield f"{path}:{number}: preprocessor conditional or macro: {line.strip()}"
        if UNFINISHED.search(line):
            yield f"{path}:{number}: unfinished: {line.strip()}"


def functions(lines):
    """Yields (first line, length) of every function body."""
    for start, line in enumerate(lines):
        match = OPENING.match(line)
        if not match or NOT_FUNCTIONS.match(line):
            continue
        closing = match[1] + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(closing):
                yield start + 1, end - start + 1
                break


def is_function(line):
    """Returns True if the line begins the declaration of a function, and not that of a field or a constant."""
    before, parenthesis, _ = re.split("[=;]", line)[0].partition("(")
    is_whole = parenthesis and before.count("<") == before.count(">")  # std::function<void(int)> is not
    words = before.split()
    return bool(is_whole and words and not NOT_DECLARATIONS.match(line) and (len(words) > 1 or words[0][0].isupper()))


def comment_problems(path, lines):
    """Yields the comments directly above functions that begin with a fragment instead of a verb."""
    first = None
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("//"):
            first = first or (number, line)
        elif not line.startswith("template <"):
            word = re.match(r" {0,2}// (\w+)", first[1]) if first else None
            if word and word[1] in FRAGMENTS and is_function(line):
                yield f"{path}:{first[0]}: a function's comment begins with a verb ('Returns'), not with '{word[1]}'"
            first = None


def paragraphs(lines):
    """Yields (line number, text) of every paragraph of comments, without drawings and formulas, which are indented."""
    number, words = 0, []
    for here, line in enumerate([*lines, ""], 1):
        comment = re.match(r"\s*// ?(\S.*)$", line)
        if words and (not comment or comment[1].startswith(("- ", "* "))):
            yield number, " ".join(words)
            words = []
        if comment:
            number = number if words else here
            words.append(comment[1])


def sentence_problems(path, lines):
    """Yields the sentences of comments that have too many words."""
    for number, text in paragraphs(lines):
        for sentence in re.split(r"(?<=[.?!:;])\s+", text):
            count = sum(1 for word in sentence.split() if re.search(r"\w", word))
            if count > LONGEST_SENTENCE:
                yield f"{path}:{number}: a sentence of {count} words; the limit is {LONGEST_SENTENCE}: {sentence}"


def long_lines(path, lines):
    """Yields lines of a text that are too long, without those of tables, drawings and commands."""
    is_code = False
    for number, line in enumerate(lines, 1):
        is_code ^= line.lstrip().startswith("```")
        if len(line) > LONGEST_LINE and not is_code and not line.startswith("|"):
            yield f"{path}:{number}: {len(line)} columns; the limit is {LONGEST_LINE}"


def version_problems(root):
    """Yields a problem if programs, packages and the Python client differ in their version, or one has none."""
    found = {path: pattern.findall((root / path).read_text()) for path, pattern in VERSIONS.items()}
    if any(each != found["CMakeLists.txt"] or len(each) != 1 for each in found.values()):
        yield "versions: " + ", ".join(f"{path} {' '.join(each) or 'none'}" for path, each in found.items())


def readme_problems(root):
    """Yields the folders of the second level that have sources and no README."""
    folders = {"/".join(path.parts[:2]) for path in tree.files(root) if len(path.parts) > 2}
    for folder in sorted(folders):
        if not (root / folder / "README.md").exists():
            yield f"{folder}: no README.md"


def folder_problems(root):
    """Yields the folders that have too many sources; rooms of their own are the mend."""
    sources = tree.files(root, endings=(".cpp", ".cu", ".py"))
    for folder, count in collections.Counter(path.parent for path in sources).items():
        if count > MOST_SOURCES:
            yield f"{folder}: {count} sources; the limit is {MOST_SOURCES}: make folders in it, one for each idea"


def problems(root):
    """Yields everything that the rules forbid."""
    yield from version_problems(root)
    yield from readme_problems(root)
    yield from folder_problems(root)
    for path in tree.files(root, TEXTS, (".md",)):
        yield from long_lines(path, (root / path).read_text().split("\n"))
    for path in tree.files(root):
        lines = (root / path).read_text().split("\n")
        yield from line_problems(path, lines)
        if path.suffix == ".hpp":
            yield from comment_problems(path, lines)
            yield from sentence_problems(path, lines)
        if len(lines) > LONGEST_FILE:
            yield f"{path}: {len(lines)} lines; the limit is {LONGEST_FILE}"
        for first, length in functions(lines):
            if length > LONGEST_FUNCTION:
                yield f"{path}:{first}: function of {length} lines; the limit is {LONGEST_FUNCTION}"


if __name__ == "__main__":
    sys.exit(tree.report(list(problems(pathlib.Path(sys.argv[1]))), "shape of the code"))
