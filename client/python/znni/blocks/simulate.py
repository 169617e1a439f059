"""The command 'znni-job simulate': what a job takes on how many machines, and what it costs."""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from znni.blocks.duration import duration
from znni.blocks.scenario import DASK, SHARDS, Machines, Work, measured_seconds, predicted_seconds, work_of
from znni.blocks.simulation import Outcome, Simulation
from znni.blocks.spec import JobSpec, read_spec
from znni.box import Triple, text_of
from znni.errors import InvalidError
from znni.sizes import in_words

_HOUR = 3600.0
_MAX_LOSSES = 5.0  # of one machine in the time of one block, of which one in 148 tries is done then
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_HEADS = ("machines", "time", "95 %", "machine-hours", "useful", "repeated", "read, written", "store busy", "price")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    add = parser.add_argument
    add("job", help="file that 'plan' printed, or the output")
    add("--nodes", type=_list_of(_whole(1)), help="numbers of machines, for example 1,10,100 (default: the job's)")
    add("--extent", type=_extent, metavar="Z,Y,X", help="of the output of a job like this one (default: this one's)")
    add(
        "--seconds",
        type=_seconds,
        default="predicted",
        help="of a block of full size by one worker of a machine: a number, "
        "'predicted' by the plan, or 'measured' in the blocks that are done (default: predicted)",
    )
    add("--compression", type=_number(1e-9), default=1.0, help="of what is read and written (default: 1)")
    add(
        "--bandwidth",
        type=_rate,
        default=math.inf,
        metavar="BYTES",
        help="per second that all machines read and write together, for example 10G (default: no limit)",
    )
    add("--node-bandwidth", type=_rate, default=math.inf, metavar="BYTES", help="the same of one machine")
    add("--start", type=_number(0), default=0.0, metavar="SECONDS", help="until a machine computes (default: 0)")
    add(
        "--stragglers",
        type=_stragglers,
        default=(0.0, 1.0),
        metavar="SHARE:FACTOR",
        help="share of the machines that take FACTOR times as long, for example 0.05:2 (default: none)",
    )
    add("--lost", type=_number(0), default=0.0, metavar="PER_HOUR", help="how often a machine is lost (default: 0)")
    add("--replaced", type=_number(0), default=0.0, metavar="SECONDS", help="until another machine starts (default: 0)")
    add(
        "--dealing",
        choices=(SHARDS, DASK),
        default=SHARDS,
        help="who has which block: 'shards', every N-th, as 'run' "
        "deals; 'dask', the next that is free, as znni.dask does (default: shards)",
    )
    add("--price-per-hour", type=_number(0), metavar="PRICE", help="of a machine, for example 3.20")
    add("--runs", type=_whole(1), default=20, help="simulated runs of each row (default: 20)")
    add("--seed", type=_whole(0), default=1, help="another seed gives other runs (default: 1)")
    add("--json", action="store_true", help="print JSON")


def simulate(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Prints a row for each number of machines. Returns the exit code."""
    spec = read_spec(options.job)
    work = _work(options, spec)
    workers = spec.predicted.get("workers_per_machine", 1)  # not in jobs of older versions
    rows = [_row(options, work, count, workers) for count in options.nodes or [spec.nodes // workers]]
    if options.json:
        print(json.dumps(rows))
        return 0
    say(
        f"{len(work.grid)} blocks of {text_of(work.grid.block)} voxels, {duration(statistics.fmean(work.seconds))} a "
        f"block, dealt out by {options.dealing}; median and 95 % of {options.runs} simulated runs"
        + (f" of {workers} workers on each machine" if workers > 1 else "")
    )
    print(_table(rows))
    return 0


def _work(options: argparse.Namespace, spec: JobSpec) -> Work:
    named = {"predicted": predicted_seconds, "measured": measured_seconds}
    seconds = named[options.seconds](spec) if options.seconds in named else (options.seconds,)
    return work_of(spec, seconds, options.extent, options.compression)


def _row(options: argparse.Namespace, work: Work, count: int, workers: int) -> dict[str, Any]:
    """Returns what runs on so many machines have in common. Each of the ``workers`` of a machine is simulated as a
    machine of its own, with its part of the bandwidth."""
    slow_share, slow_factor = options.stragglers
    machines = Machines(
        count * workers,
        options.start,
        options.bandwidth,
        options.node_bandwidth / workers,
        slow_share,
        slow_factor,
        options.lost,
        options.replaced,
    )
    _check_ends(work, machines)
    runs = [
        Simulation(work, machines, options.dealing, f"{options.seed}/{count}/{run}").run()
        for run in range(options.runs)
    ]
    return summary(work, machines, runs, options.price_per_hour, workers)


def _check_ends(work: Work, machines: Machines) -> None:
    """Raises InvalidError if machines are lost so often that blocks would hardly ever be done."""
    rate = min(machines.machine_bandwidth, machines.bandwidth)
    moved = (work.bytes_read + work.bytes_written) / rate
    seconds = max(work.seconds) * (machines.slow_factor if machines.slow_share else 1.0) + moved
    most = _HOUR * _MAX_LOSSES / seconds
    if machines.lost_per_hour > most:
        raise InvalidError(
            f"--lost: {machines.lost_per_hour:g} found, expected at most {most:.3g}: a block takes up "
            f"to {duration(seconds)}, in which a machine would be lost more than {_MAX_LOSSES:g} times: "
            "name a lower rate, or plan smaller blocks"
        )


def summary(
    work: Work, machines: Machines, runs: Sequence[Outcome], price: float | None, workers: int = 1
) -> dict[str, Any]:
    """Returns medians of simulated runs, and of hours what 95 % of them do not exceed. So many ``workers``, simulated
    as ``machines``, are one that is paid."""
    hours = sorted(run.seconds / _HOUR for run in runs)
    worker_hours = statistics.median(run.machine_seconds for run in runs) / _HOUR
    machine_hours = worker_hours / workers
    moved = statistics.median(run.bytes_moved for run in runs)
    return {
        "nodes": machines.count // workers,
        "blocks": len(work.grid),
        "hours": statistics.median(hours),
        "hours_95": hours[math.ceil(0.95 * len(hours)) - 1],
        "machine_hours": machine_hours,
        "useful": work.total_seconds / _HOUR / worker_hours if worker_hours else 1.0,
        "repeated": statistics.median(run.repeated for run in runs),
        "bytes_moved": moved,
        "store_busy": moved / machines.bandwidth / (statistics.median(hours) * _HOUR) if hours[-1] else 0.0,
        "price": price * machine_hours if price is not None else None,
    }


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the rows as columns of equal width."""
    told = [_HEADS, *map(_cells, rows)]
    kept = [at for at in range(len(_HEADS)) if any(cells[at] for cells in told[1:])]
    widths = [max(len(cells[at]) for cells in told) for at in kept]
    return "\n".join("  ".join(cells[at].rjust(width) for at, width in zip(kept, widths)) for cells in told)


def _cells(row: dict[str, Any]) -> Sequence[str]:
    price = f"{row['price']:.2f}" if row["price"] is not None else ""
    busy = f"{row['store_busy']:.0%}" if row["store_busy"] else ""
    return (
        str(row["nodes"]),
        duration(row["hours"] * _HOUR),
        duration(row["hours_95"] * _HOUR),
        f"{row['machine_hours']:.3g}",
        f"{row['useful']:.0%}",
        f"{row['repeated']:g}",
        in_words(row["bytes_moved"]),
        busy,
        price,
    )


def _whole(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' found, expected a whole number of at least {least}")
        return int(text)

    return number


def _number(least: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not least <= found < math.inf:
            raise argparse.ArgumentTypeError(f"'{text}' found, expected a number of at least {least:g}")
        return found

    return number


def _list_of(kind: Callable[[str], Any]) -> Callable[[str], list]:
    return lambda text: [kind(part) for part in text.split(",")]


def _extent(text: str) -> Triple:
    numbers = _list_of(_whole(1))(text)
    if len(numbers) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' found, expected Z,Y,X, for example 100000,100000,100000")
    return tuple(numbers)


def _seconds(text: str) -> float | str:
    return text if text in ("predicted", "measured") else _number(1e-9)(text)


def _rate(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGT]?)", text)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"'{text}' found, expected bytes per second, for example 500M or 10G")
    return float(match[1]) * _UNITS[match[2]]


def _stragglers(text: str) -> tuple[float, float]:
    match = re.fullmatch(r"(\d*\.?\d+):(\d*\.?\d+)", text)
    if not match or not 0 <= float(match[1]) <= 1 or float(match[2]) < 1:
        raise argparse.ArgumentTypeError(
            f"'{text}' found, expected SHARE:FACTOR with a share of at most 1 and a "
            "factor of at least 1, for example 0.05:2"
        )
    return float(match[1]), float(match[2])
