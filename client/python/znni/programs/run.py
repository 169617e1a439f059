"""znni-run: one volume through one network, with a daemon of its own for as long as that takes."""

from __future__ import annotations

import argparse
import math
import pathlib
import time
from collections.abc import Sequence
from typing import Any

from znni import __version__
from znni.blocks.duration import duration
from znni.box import text_of
from znni.errors import LASTING, InvalidError, NotServedError
from znni.local.one_shot import predict
from znni.local.repository import Config, own_config
from znni.padding import PADS
from znni.programs.frame import DONE, OneLineParser, run_program, say
from znni.programs.options import SHARD_HELP, shard_of
from znni.scaling import SLICE_ZSCORE, Scale
from znni.stores.formats.sharded import Sharded
from znni.stores.opening import open_source

_EXAMPLE = "example: znni run net.onnx raw.ome.zarr dense.ome.zarr --mem 16G --pad reflect"
_EXITS = "exit codes: 0 the output is there; 1 running it again may help; 2 wrong input; 130 interrupted"
_FORMS = (
    "FOLDER.zarr[/array], FOLDER.n5/dataset, precomputed://FOLDER, also at s3://; FILE.h5:/dataset, FILE.npy, "
    "FILE.tif, FILE.nii.gz or FILE.nrrd"
)


def _threads(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' found, expected a whole number of at least 1")
    return int(text)


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected a finite number, for example 0.0039")
    return found


def _parameter(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"'{text}' found, expected KEY=VALUE, for example input_scale=0.0039")
    return key, value


def make_parser() -> OneLineParser:
    """Returns what reads the program's options."""
    parser = OneLineParser(
        prog="znni-run",
        description=__doc__,
        epilog=f"{_EXAMPLE}\n{_EXITS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"znni-run {__version__}")
    add = parser.add_argument
    add("network", help="file of ONNX, or prototxt of Caffe with its caffemodel beside it")
    add(
        "volume",
        nargs="+",
        help=f"{_FORMS}, all also at https:// and s3://; NAME=VOLUME for each input of a network with several",
    )
    add("output", help=f"{_FORMS}, which is made now")
    add("--mem", help="memory that the daemon may take, for example 16G (default: 0.8 of what is available)")
    add("--threads", type=_threads, help="threads that compute, for example 8 (default: all processors)")
    add("--pad", choices=PADS, default="none", help="padding at the volume's border (default: none, a smaller output)")
    add("--roi", help="region of the volume, for example 0:100,:,200:900, stop exclusive (default: all)")
    add("--dtype", choices=("float32", "float16", "uint8"), default="float32", help="type of the output's voxels")
    add("--scale", type=_number, help="factor of the volume's voxels, instead of the model's own normalisation")
    add("--offset", type=_number, help="number that is added after --scale (default: 0)")
    add(
        "--slice-zscore",
        action="store_true",
        help="bring each slice along z to mean 0 and deviation 1, instead of the model's own normalisation",
    )
    add(
        "--mask", help="volume that is 0 where the output is to be 0, as large as the input or coarser by whole factors"
    )
    add(
        "--channels",
        help="channels of the output to keep, numbers from 0 on or names of outputs: 2,mask (default: all)",
    )
    add(
        "--tta",
        metavar="AXES",
        help="mean over mirrored volumes: mirror, which is zyx, or some of the axes, such as yx",
    )
    add("--config", help="config.pbtxt of the network (default: its own, if it lies in a model repository)")
    add(
        "--parameter",
        action="append",
        type=_parameter,
        metavar="KEY=VALUE",
        help="entry of config.pbtxt instead of a file, for example input_scale=0.0039; may be repeated",
    )
    add("--shard", type=shard_of, metavar="Z,Y,X", help=SHARD_HELP)
    add("--overwrite", action="store_true", help="replace an output that is there")
    add("--no-progress", action="store_true", help="no progress on standard error")
    return parser


def _volume_of(paths: Sequence[str]) -> Any:
    """Returns one path, or a dictionary of those of several inputs."""
    if len(paths) == 1:
        return paths[0]
    named = [path.partition("=") for path in paths]
    for path, (name, equals, volume) in zip(paths, named):
        if not (name and equals and volume):
            raise InvalidError(f"'{path}' found, expected NAME=VOLUME for each of several inputs")
    volumes = {name: volume for name, _, volume in named}
    if len(volumes) < len(named):
        raise InvalidError(f"{len(paths)} volumes found for the inputs {', '.join(volumes)}: name each input once")
    return volumes


def _config_of(options: argparse.Namespace) -> Config:
    if options.config and options.parameter:
        raise InvalidError("--config and --parameter exclude each other: write the parameters into the file")
    if not options.parameter:
        return options.config
    parameters = dict(options.parameter)
    if len(parameters) < len(options.parameter):
        raise InvalidError(f"--parameter: {', '.join(parameters)}: name each key once")
    own = own_config(pathlib.Path(options.network).absolute())
    if own:
        say(f"--parameter stands in place of {own}")
    return parameters


def _scale_of(options: argparse.Namespace) -> Scale:
    """Returns factor and offset, of which one that is not given does nothing; None if neither is. Raises InvalidError
    if slices are to be normalised, too."""
    is_scaled = options.scale is not None or options.offset is not None
    if options.slice_zscore and is_scaled:
        raise InvalidError("--slice-zscore and --scale or --offset exclude each other")
    if options.slice_zscore:
        return SLICE_ZSCORE
    if not is_scaled:
        return None
    return 1.0 if options.scale is None else options.scale, options.offset or 0.0


def _run(options: argparse.Namespace) -> int:
    began = time.monotonic()
    predict(
        options.network,
        _volume_of(options.volume),
        Sharded(options.output, options.shard) if options.shard else options.output,
        mem=options.mem,
        threads=options.threads,
        config=_config_of(options),
        roi=options.roi,
        pad=options.pad,
        dtype=options.dtype,
        scale=_scale_of(options),
        mask=options.mask,
        channels=options.channels,
        tta=options.tta,
        overwrite=options.overwrite,
        progress=not options.no_progress,
    )
    with open_source(options.output) as made:
        print(f"{options.output}: {text_of(made.shape)} {options.dtype} in {duration(time.monotonic() - began)}")
    return DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code."""
    options = make_parser().parse_args(arguments)
    return run_program("znni-run", lambda: _run(options), "no output was left", (*LASTING, NotServedError))


if __name__ == "__main__":
    raise SystemExit(main())
