"""Tests mirror the source: every source file with behaviour has its test, and every test is run: a CMakeLists.txt lists
it. Tests are at least half as long as the source."""

import pathlib
import re
import sys

import tree

# Sources that another test exercises, and which.
COVERED_ELSEWHERE = {
    "planner/program/alternatives.cpp": "tests/planner/program/plans_test.py",
    "planner/program/check_command.cpp": "tests/planner/program/checks_test.py",
    "planner/program/curve_command.cpp": "tests/planner/program/curves_and_prices_test.py",
    "planner/program/draw_command.cpp": "tests/planner/program/plans_test.py",
    "planner/program/main.cpp": "tests/planner/program/plans_test.py",
    "planner/program/plan_output.cpp": "tests/planner/program/plans_test.py",
    "planner/program/price_command.cpp": "tests/planner/program/curves_and_prices_test.py",
    "planner/program/session.cpp": "tests/planner/program/plans_test.py",
    "planner/program/train_command.cpp": "tests/planner/program/training_test.py",
    "planner/program/valid_command.cpp": "tests/e2e/valid_test.py",
    "server/main.cpp": "tests/e2e",
    "server/train/inputs.cpp": "tests/e2e",
    "server/train/main.cpp": "tests/e2e",
    "client/cli/main.cpp": "tests/e2e",
    "primitives/core/copy_past_caches_aarch64.cpp": "tests/primitives/core/copy_past_caches_test.cpp",
    "primitives/core/copy_past_caches_x86.cpp": "tests/primitives/core/copy_past_caches_test.cpp",
    **{
        f"primitives/cpu/grad/weights_{isa}.cpp": "tests/primitives/cpu/grad/grad_fft_tiled_test.cpp"
        for isa in ("aarch64", "avx2", "avx512", "portable", "x86")
    },
    **{
        f"primitives/cpu/pool/stack_rows_{isa}.cpp": "tests/primitives/cpu/pool/stack_rows_test.cpp"
        for isa in ("aarch64", "avx512", "simd8", "x86")
    },
    "primitives/cpu/device/start_check_x86.cpp": "tests/deploy",
    "client/python/setup.py": "tests/client/python/install.py",
    "client/python/znni/__init__.py": "tests/client/python",
    "client/python/znni/blocks/__init__.py": "tests/client/python/blocks",
    "client/python/znni/calls/__init__.py": "tests/client/python/calls",
    "client/python/znni/local/__init__.py": "tests/client/python/local",
    "client/python/znni/stores/__init__.py": "tests/client/python/stores",
    "client/python/znni/programs/__init__.py": "tests/client/python/programs",
    "client/python/znni/pyramid/__init__.py": "tests/client/python/pyramid",
    "client/python/znni/pytorch/__init__.py": "tests/client/python/pytorch",
    "client/python/znni/stores/seam.py": "tests/client/python/stores",
    "client/python/znni/stores/formats/__init__.py": "tests/client/python/stores/formats",
    "client/python/znni/streaming/__init__.py": "tests/client/python/streaming",
    "client/python/znni/targets/__init__.py": "tests/client/python/targets",
    "client/python/znni/viewing/__init__.py": "tests/client/python/viewing",
}

LISTS = "CMakeLists.txt"
COMMENT = re.compile(r"#.*")
# Paths, with variables in them, if any.
WORD = re.compile(r"(?:[\w./*-]|\$\{\w+\})+")
VARIABLE = re.compile(r"\$\{(\w+)\}")
# What finds the tests of each folder in its list.
DISCOVERY = "-m unittest discover"
# Lists of back ends that name tests by their primitives. Their other lists name sources.
PRIMITIVES = re.compile(r"^znni_(?:backend|gradients)\([^)]*\b(?:PRIMITIVES|GRADIENTS)\b([^)]*)", re.MULTILINE)
OTHER_LIST = re.compile(r"\b(?:SOURCES|PUBLIC|PRIVATE)\b")


def test_of(path):
    """Returns where the test of source `path` is: the package of the Python client is tested in the folder of the
    client."""
    folder = pathlib.PurePosixPath(str(path.parent).replace("client/python/znni", "client/python"))
    return "tests" / folder / f"{path.stem}_test{path.suffix}"


def pattern_of(word, folder, words):
    """Returns an expression for the paths that a word of a list in `folder` names. A variable of a loop, in lower case,
    may be any word of the list."""
    word = word.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
    whole = word.removeprefix("${PROJECT_SOURCE_DIR}/")
    path = whole if whole != word else f"{folder}/{word}"
    # Every second piece is the name of a variable.
    pieces = VARIABLE.split(path)
    of_loop = "(?:" + "|".join(map(re.escape, sorted(words))) + ")"
    pieces[1::2] = [of_loop if name.islower() else r"\w+" for name in pieces[1::2]]
    pieces[::2] = [re.escape(piece).replace(r"\*", "[^/]*") for piece in pieces[::2]]
    return re.compile("".join(pieces))


def primitives_in(text):
    """Returns the words of a text's lists of primitives."""
    return {word for found in PRIMITIVES.findall(text) for word in WORD.findall(OTHER_LIST.split(found)[0])}


def listed(root):
    """Yields expressions for the paths of the tests that are built or run."""
    for path in tree.files(root, ("tests", "primitives"), (LISTS,)):
        text = COMMENT.sub("", (root / path).read_text())
        words = set(WORD.findall(text))
        yield from (pattern_of(word, path.parent, words) for word in words if word.endswith(("_test.cpp", "_test.py")))
        for word in primitives_in(text):
            yield re.compile(re.escape(f"tests/{path.parent}/{word}_test.cpp"))
        if DISCOVERY in text:
            yield from (re.compile(re.escape(f"{path.parent}/{word}/") + r"\w+_test\.py") for word in words)


def unlisted(root):
    """Yields tests that no list names."""
    patterns = list(listed(root))
    for path in tree.files(root, ("tests",), ("_test.cpp", "_test.py")):
        if not any(pattern.fullmatch(str(path)) for pattern in patterns):
            yield path


def lines(root, paths):
    """Returns the count of non-blank lines in all files."""
    return sum(1 for path in paths for line in (root / path).read_text().split("\n") if line.strip())


def problems(root):
    """Yields sources without a test, and the ratio of test lines."""
    sources = [*tree.files(root, endings=(".cpp",)), *tree.files(root, ("client/python",), (".py",))]
    for path in sources:
        if str(path) not in COVERED_ELSEWHERE and not (root / test_of(path)).exists():
            yield f"{path}: no {test_of(path)}"
    yield from (f"{path}: no {LISTS} lists it" for path in unlisted(root))
    tested = lines(root, tree.files(root, ("tests",), (".cpp", ".hpp", ".py")))
    written = lines(root, [*tree.files(root), *tree.files(root, ("client/python",), (".py",))])
    print(f"{tested} lines of tests for {written} lines of source")
    if 2 * tested < written:
        yield f"tests are less than half as long as the source: {tested} of {written} lines"


if __name__ == "__main__":
    sys.exit(tree.report(list(problems(pathlib.Path(sys.argv[1]))), "mirrored tests"))
