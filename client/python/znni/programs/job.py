"""znni-job: one volume through one network on many machines."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from znni import __version__
from znni.blocks.coarser import make_coarser
from znni.blocks.duration import duration
from znni.blocks.forecast import summary
from znni.blocks.grid import Shard, parse_shard
from znni.blocks.planning import Wishes, plan
from znni.blocks.serving import check_files, serving_of
from znni.blocks.simulate import add_options, simulate
from znni.blocks.spec import JobSpec, read_spec, to_json
from znni.blocks.status import status_of, verify
from znni.blocks.work import Worker, open_output
from znni.box import Triple
from znni.padding import PADS
from znni.programs.frame import DONE, MAY_HELP, WRONG, OneLineParser, run_program
from znni.programs.frame import say as _say
from znni.programs.options import SHARD_HELP, shard_of

_EXITS = "exit codes: 0 all is there; 1 some is missing, run it again; 2 wrong input, which running again does not mend"

_LEFT_OF_PLAN = "plan again; if the output was made, --overwrite replaces it, or 'run' goes on with it"


def _block(text: str) -> Triple | None:
    if text == "auto":
        return None
    numbers = text.split(",")
    if len(numbers) != 3 or not all(number.isdigit() for number in numbers):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected auto or Z,Y,X, for example 256,256,256")
    return tuple(map(int, numbers))  # type: ignore[return-value]


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' found, expected a whole number of at least {least}")
        return int(text)

    return number


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected a price, for example 3.20")
    return price


def make_parser() -> OneLineParser:
    """Returns what reads the program's options."""
    parser = OneLineParser(prog="znni-job", description=__doc__, epilog=_EXITS)
    parser.add_argument("--version", action="version", version=f"znni-job {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="plan|run|status|verify|pyramid|simulate")
    _add_plan(commands.add_parser("plan", help="choose blocks, make the output, print the job as JSON", epilog=_EXITS))
    run = commands.add_parser("run", help="compute the blocks of a shard that are missing", epilog=_EXITS)
    run.add_argument("job", help="file that 'plan' printed, or the output, beside which a copy lies")
    run.add_argument(
        "--shard",
        help="I/N: every N-th block from block I on (default: JOB_COMPLETION_INDEX of the environment, if it is set, "
        "of the shards that the job has, its --nodes times its --workers-per-machine, else all)",
    )
    run.add_argument(
        "--server",
        action="append",
        metavar="HOST:PORT",
        help="daemon to use instead of the job's; several are taken in turns",
    )
    run.add_argument("--model", help="model of these servers (default: the name that the job has)")
    run.add_argument(
        "--retries", type=_at_least(0), default=4, help="how often a block that fails is tried again (default: 4)"
    )
    status = commands.add_parser("status", help="how many blocks are done, failed, missing")
    status.add_argument("job", help="file that 'plan' printed, or the output")
    status.add_argument("--json", action="store_true", help="print JSON")
    check = commands.add_parser("verify", help="read the output and compare it with what was computed", epilog=_EXITS)
    check.add_argument("job", help="file that 'plan' printed, or the output")
    check.add_argument("--repair", action="store_true", help="let the next run compute damaged blocks again")
    pyramid = commands.add_parser("pyramid", help="make the coarser resolutions of FOLDER.ome.zarr", epilog=_EXITS)
    pyramid.add_argument("job", help="file that 'plan' printed, or the output")
    add_options(commands.add_parser("simulate", help="what the job takes on how many machines, and what it costs"))
    return parser


def _add_plan(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--network", default="", help="file of ONNX or Caffe that each machine serves itself")
    add(
        "--server", action="append", default=[], metavar="HOST:PORT", help="daemon that serves --model; may be repeated"
    )
    add("--model", default="", help="model of the servers")
    add(
        "-i",
        "--input",
        required=True,
        help="volume: FOLDER.zarr[/array], FOLDER.n5/dataset, "
        "precomputed://FOLDER, FILE.h5:/dataset, FILE.npy, FILE.tif, FILE.nii.gz or FILE.nrrd, also at https:// and "
        "s3://",
    )
    add(
        "-o",
        "--output",
        required=True,
        help="FOLDER.zarr, FOLDER.n5/dataset or precomputed://FOLDER, also at s3://, which is made now",
    )
    add("--pad", choices=PADS, default="none", help="padding at the volume's border (default: none)")
    add("--dtype", choices=("float32", "float16", "uint8"), default="float32", help="type of the output's voxels")
    add("--block", type=_block, default=None, help="Z,Y,X: voxels of a block, whole chunks (default: auto)")
    add("--shard", type=shard_of, metavar="Z,Y,X", help=SHARD_HELP)
    add("--nodes", type=_at_least(1), default=1, help="number of machines (default: 1)")
    add(
        "--workers-per-machine",
        dest="workers",
        type=_at_least(1),
        default=1,
        metavar="N",
        help="runs of the job on each machine at a time, which share it: the job has N times --nodes shards. Blocks "
        "are computed at once, to measure what they take together. -m needs --mem of each then (default: 1)",
    )
    add("--mem", help="memory of a machine's daemon, for example 16G (default: 0.8 of what is available)")
    add("--threads", type=_at_least(1), help="threads of a machine's daemon (default: all processors)")
    add("--config", help="config.pbtxt of the network")
    add("--mask", help="volume whose voxels that are not 0 are of interest; may be coarser by a whole factor")
    add("--skip-empty", action="store_true", help="leave out blocks whose input is 0 everywhere; their output is 0")
    add("--price-per-hour", type=_price, help="price of a machine, for example 3.20")
    add("--overwrite", action="store_true", help="replace an output that is there")
    add(
        "--no-measure",
        dest="measure",
        action="store_false",
        help="compute no block now, and take the daemon's prediction for what they take (default: one to four "
        "are computed, and up to two of each other extent that takes a part of the time, to predict the others; then "
        "as many at once as workers share a machine, or the servers of one)",
    )


def _plan(options: argparse.Namespace) -> int:
    names = {field.name for field in dataclasses.fields(Wishes)}
    values = {name: value for name, value in vars(options).items() if name in names}
    spec = plan(Wishes(servers=options.server, **values), _say)
    sys.stdout.write(to_json(spec))
    _say(summary(spec))
    return DONE


def _shard(options: argparse.Namespace, spec: JobSpec) -> Shard:
    if options.shard:
        return parse_shard(options.shard)
    index = os.environ.get("JOB_COMPLETION_INDEX")
    return parse_shard(f"{index}/{spec.nodes}") if index else Shard(0, 1)


def _run(options: argparse.Namespace) -> int:
    spec = read_spec(options.job)
    shard = _shard(options, spec)
    check_files(spec, "" if options.server else spec.network)
    open_output(spec)  # before a daemon is started
    with serving_of(spec, shard.index, options.server, options.model or "") as serving:
        failed = Worker(spec, serving, options.retries, _say).run(shard)
        may_help = any(not serving.is_lasting(error) for error in failed.values())
    if not failed:
        return DONE
    _say(f"znni-job: {len(failed)} blocks failed: " + ", ".join(map(str, failed)))
    return MAY_HELP if may_help else WRONG


def _status(options: argparse.Namespace) -> int:
    status = status_of(read_spec(options.job))
    if options.json:
        print(
            json.dumps({**dataclasses.asdict(status), "missing": status.missing, "seconds_left": status.seconds_left})
        )
        return DONE
    left = status.seconds_left
    print(
        f"{status.done} of {status.blocks} blocks done, {status.skipped} of them skipped; {status.missing} missing"
        + (f", which take one machine {duration(left)}" if left else "")
    )
    if status.lacks_coarser:
        print("its coarser resolutions are missing: 'znni-job pyramid' makes them once all blocks are done")
    for number, reason in sorted(status.failed.items()):
        print(f"block {number} failed: {reason}")
    return DONE


def _verify(options: argparse.Namespace) -> int:
    missing, damaged = verify(read_spec(options.job), options.repair, _say)
    hint = "; --repair lets the next run compute them again" if damaged and not options.repair else ""
    print(f"{len(missing)} blocks missing, {len(damaged)} damaged{hint}")
    return MAY_HELP if missing or damaged else DONE


def _pyramid(options: argparse.Namespace) -> int:
    make_coarser(read_spec(options.job))
    return DONE


def _simulate(options: argparse.Namespace) -> int:
    return simulate(options, _say)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    options = make_parser().parse_args(arguments)
    command = {
        "plan": _plan,
        "run": _run,
        "status": _status,
        "verify": _verify,
        "pyramid": _pyramid,
        "simulate": _simulate,
    }[options.command]
    left = _LEFT_OF_PLAN if command is _plan else "run it again to go on"
    return run_program("znni-job", lambda: command(options), left)


if __name__ == "__main__":
    sys.exit(main())
