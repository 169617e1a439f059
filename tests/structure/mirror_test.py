"""Tests mirror the source: every source file with behaviour has its test; tests are at least half as long."""

import pathlib
import sys

import tree

# Sources that another test exercises, and which.
COVERED_ELSEWHERE = {
    "planner/program/beside.cpp": "tests/planner/program_test.py",
    "planner/program/curve_command.cpp": "tests/planner/program_test.py",
    "planner/program/draw_command.cpp": "tests/planner/program_test.py",
    "planner/program/main.cpp": "tests/planner/program_test.py",
    "planner/program/plan_output.cpp": "tests/planner/program_test.py",
    "planner/program/price_command.cpp": "tests/planner/program_test.py",
    "planner/program/session.cpp": "tests/planner/program_test.py",
    "server/main.cpp": "tests/e2e",
    "client/cli/main.cpp": "tests/e2e",
    "primitives/core/copy_past_caches_aarch64.cpp": "tests/primitives/core/copy_past_caches_test.cpp",
    "primitives/core/copy_past_caches_x86.cpp": "tests/primitives/core/copy_past_caches_test.cpp",
    "primitives/cpu/device/start_check_x86.cpp": "tests/deploy",
}


def test_of(path):
    """Where the test of source `path` is."""
    return pathlib.PurePosixPath("tests") / path.parent / f"{path.stem}_test.cpp"


def lines(root, paths):
    """Non-blank lines in all files."""
    return sum(1 for path in paths for line in (root / path).read_text().split("\n") if line.strip())


def problems(root):
    """Sources without a test, and the ratio of test lines."""
    sources = tree.files(root, endings=(".cpp",))
    for path in sources:
        if str(path) not in COVERED_ELSEWHERE and not (root / test_of(path)).exists():
            yield f"{path}: no {test_of(path)}"
    tested = lines(root, tree.files(root, ("tests",), (".cpp", ".hpp", ".py")))
    written = lines(root, tree.files(root))
    print(f"{tested} lines of tests for {written} lines of source")
    if 2 * tested < written:
        yield f"tests are less than half as long as the source: {tested} of {written} lines"


if __name__ == "__main__":
    sys.exit(tree.report(list(problems(pathlib.Path(sys.argv[1]))), "mirrored tests"))
