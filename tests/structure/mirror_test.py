"""Tests mirror the source: every source file with behaviour has its test; tests are at least half as long."""

import pathlib
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


def test_of(path):
    """Returns where the test of source `path` is: the package of the Python client is tested in the folder of the
    client."""
    folder = pathlib.PurePosixPath(str(path.parent).replace("client/python/znni", "client/python"))
    return "tests" / folder / f"{path.stem}_test{path.suffix}"


def lines(root, paths):
    """Returns the count of non-blank lines in all files."""
    return sum(1 for path in paths for line in (root / path).read_text().split("\n") if line.strip())


def problems(root):
    """Yields sources without a test, and the ratio of test lines."""
    sources = [*tree.files(root, endings=(".cpp",)), *tree.files(root, ("client/python",), (".py",))]
    for path in sources:
        if str(path) not in COVERED_ELSEWHERE and not (root / test_of(path)).exists():
            yield f"{path}: no {test_of(path)}"
    tested = lines(root, tree.files(root, ("tests",), (".cpp", ".hpp", ".py")))
    written = lines(root, [*tree.files(root), *tree.files(root, ("client/python",), (".py",))])
    print(f"{tested} lines of tests for {written} lines of source")
    if 2 * tested < written:
        yield f"tests are less than half as long as the source: {tested} of {written} lines"


if __name__ == "__main__":
    sys.exit(tree.report(list(problems(pathlib.Path(sys.argv[1]))), "mirrored tests"))
