"""znni-view: an output beside its input, slice by slice, in one page of HTML that needs no other file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from znni import __version__
from znni.errors import InvalidError
from znni.programs.frame import DONE, OneLineParser, run_program
from znni.stores.opening import open_source
from znni.stores.partial import Partial
from znni.viewing.making import View, make_page
from znni.viewing.page import Page, write_page
from znni.viewing.run_result import read_result

_ENDINGS = (".html", ".htm")
_EXITS = "exit codes: 0 done; 2 wrong input; 130 interrupted; 1 any other failure"
_VOLUMES = (
    "FILE.npy, FILE.h5:/dataset, FILE.tif, FILE.nii.gz, FILE.nrrd, FOLDER.zarr[/array], FOLDER.n5/dataset or "
    "precomputed://FOLDER, also at https:// and s3://"
)


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' found, expected a whole number of at least {least}")
        return int(text)

    return number


def _channels(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected numbers from 0 on, for example 0,2")
    return tuple(map(int, parts))


def _offset(text: str) -> tuple[int, ...]:
    try:
        found = tuple(map(int, text.split(",")))
    except ValueError:
        found = ()
    if len(found) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' found, expected voxels Z,Y,X, for example 20,20,20")
    return found


def _percentiles(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = -1.0
    if not 0 <= low < high <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' found, expected two percentiles from 0 to 100, for example 1,99")
    return low, high


def make_parser() -> OneLineParser:
    """Returns what reads the program's options."""
    parser = OneLineParser(prog="znni-view", description=__doc__, epilog=_EXITS)
    add = parser.add_argument
    add("--version", action="version", version=f"znni-view {__version__}")
    add("volume", metavar="OUT", help=f"output to look at, or any volume: {_VOLUMES}")
    add("--with", dest="source", metavar="IN", help="input that it was computed from")
    add("-o", "--output", required=True, metavar="PAGE.html", help="page to write")
    add("--overwrite", action="store_true", help="replace a page that is there")
    add(
        "--max-size",
        type=_at_least(1),
        metavar="N",
        default=View.max_size,
        help="cells along y and x (default: %(default)s)",
    )
    add(
        "--max-slices",
        type=_at_least(1),
        metavar="N",
        default=View.max_slices,
        help="cells along z (default: %(default)s)",
    )
    add(
        "--channels",
        type=_channels,
        metavar="N,..",
        help="channels of the output, for example 0,2 (default: the first 4)",
    )
    add("--offset", type=_offset, metavar="Z,Y,X", help="the input's voxel at which OUT begins (default: as files say)")
    add(
        "--window",
        type=_percentiles,
        default=View.percentiles,
        metavar="LOW,HIGH",
        help="percentiles of the voxels that are black and white (default: 0.5,99.5)",
    )
    add(
        "--downsample",
        choices=("mean", "sample"),
        default="mean",
        help="what a cell of several voxels of a plane shows: their mean, or that in the middle, as labels need "
        "(default: mean)",
    )
    add("--run", metavar="RESULT.json", help="what 'znni infer --json' printed, to be shown on the page")
    return parser


def _check_name(page: str, overwrite: bool) -> None:
    """Raises InvalidError for a page that is not written: volumes are never replaced by one."""
    if not page.endswith(_ENDINGS):
        raise InvalidError(f"{page}: this kind of file found, expected PAGE.html: name it so")
    if os.path.exists(page) and not overwrite:
        raise InvalidError(f"{page}: is there already: pass --overwrite, or name another")


def _view(options: argparse.Namespace) -> int:
    _check_name(options.output, options.overwrite)
    partial = Partial(options.output, options.overwrite)
    result = read_result(options.run) if options.run else None
    view = View(
        options.max_size,
        options.max_slices,
        options.channels,
        options.offset,
        options.window,
        options.downsample == "mean",
    )
    with ExitStack() as opened:
        output = opened.enter_context(open_source(options.volume))
        source = opened.enter_context(open_source(options.source)) if options.source else None
        page = make_page(output, source, view, result)
    _write(page, partial)
    print(_summary(page, options.output))
    return DONE


def _write(page: Page, partial: Partial) -> None:
    try:
        with open(partial.begin(), "w", encoding="utf-8") as file:
            write_page(page, file)
        partial.finish()
    except BaseException:
        partial.discard()
        raise


def _summary(page: Page, path: str) -> str:
    counts = "x".join(str(axis.count) for axis in page.space.axes)
    megabytes = os.path.getsize(path) / 1e6
    return "\n".join([f"{path}: {counts} cells, {megabytes:.1f} MB", *(f"  {note}" for note in page.notes)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes a page and returns the exit code."""
    options = make_parser().parse_args(arguments)
    return run_program("znni-view", lambda: _view(options), "no page was left")


if __name__ == "__main__":
    sys.exit(main())
