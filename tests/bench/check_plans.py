#!/usr/bin/env python3
"""Checks the planner's predictions: draws plans of models from the search, runs each, and compares.

  check_plans.py --programs build/release/bin --work DIR --model FILE [--model FILE ...]

Each plan runs in its own process (`znni-bench net`). Results are kept in DIR, so that a stopped run continues where it
ended; another --seed, --count or --neighbours needs another DIR. At the end the fastest five of each model, the chosen
plan and those of --plan run again, in turn.

Prints one JSON object, per model and for all together: how far predicted times are from measured ones, how many plans
and layers kept within their error bars, whether the memory reserved is the memory predicted, the peak of the process
over it, and how near the chosen plan and those of --plan come to the fastest one found. --again compares the measured
times with those that --timings predict now.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

CONTESTANTS = 5
# Share of a patch's time below which a layer does not count.
COUNTS = 0.02


def say(line):
    print(f"check_plans: {line}", file=sys.stderr, flush=True)


def percentile(values, share):
    """Returns the percentile by nearest rank; None if there are no values."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1] if ordered else None


def error(predicted, seconds):
    return abs(predicted - seconds) / seconds


def write(path, value):
    """Writes JSON to a file, completely or not at all."""
    trial = path.with_suffix(".part")
    trial.write_text(json.dumps(value, indent=1) + "\n")
    trial.replace(path)


def run(command):
    """Runs a command. Returns its output and its peak memory."""
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"check_plans: {' '.join(map(str, command))} ended with code {process.returncode}")
    return text.decode(), usage.ru_maxrss * 1024


def named(plan):
    """Returns the name of a plan of --plan among the drawn ones."""
    return f"named-{plan.stem}"


def name_plan(plan, folder):
    """Copies a plan of --plan and returns the copy. Drops results of another plan of that name."""
    copy, contest_file = folder / f"{named(plan)}.pbtxt", folder / "contest.json"
    if copy.exists() and copy.read_bytes() == plan.read_bytes():
        return copy
    copy.with_suffix(".json").unlink(missing_ok=True)
    if contest_file.exists():
        write(contest_file, [row for row in json.loads(contest_file.read_text()) if row["plan"] != copy.stem])
    shutil.copyfile(plan, copy)
    return copy


def draw(options, model, folder):
    """Returns the plan files, which are drawn once."""
    done = folder / "drawn.json"
    if not done.exists():
        command = [
            options.programs / "planner",
            "draw",
            "--model",
            model,
            "--output",
            folder,
            "--mem",
            options.mem,
            "--count",
            options.count,
            "--neighbours",
            options.neighbours,
            "--seed",
            options.seed,
            "--max-seconds",
            options.max_seconds,
            "--patience",
            options.patience,
        ]
        command += ["--timings", options.timings] if options.timings else []
        command += ["--threads", options.threads] if options.threads else []
        text, _ = run(command)
        write(done, [line.split(": ")[0] for line in text.splitlines()])
    return [*map(pathlib.Path, json.loads(done.read_text())), *(name_plan(plan, folder) for plan in options.plan)]


def layers(nodes):
    """Returns name, measured and predicted time and error bar of each layer that counts."""
    whole = sum(node["measured_ms"] for node in nodes)
    return [
        {
            "name": node["name"],
            "primitive": node["primitive"],
            "problem": node["problem"],
            "predicted_seconds": node["predicted_ms"] / 1e3,
            "seconds": node["measured_ms"] / 1e3,
            "bar": node["error"],
        }
        for node in nodes
        if node["predicted_ms"] > 0 and node["measured_ms"] > COUNTS * whole
    ]


def measure(options, model, plan, repetitions):
    text, peak = run(
        [
            options.programs / "znni-bench",
            "net",
            "--plan",
            plan,
            "--model",
            model,
            "--mem",
            options.mem,
            "--repetitions",
            repetitions,
            "--json",
        ]
    )
    found = json.loads(text)
    seconds = statistics.median([each["seconds"] for each in found["runs"] if each["kind"] == "warm"])
    return {
        "plan": plan.stem,
        "predicted_seconds": found["predicted_seconds"],
        "bar": found["planned_error"],
        "seconds": seconds,
        "voxels_per_second": found["voxels"] / seconds,
        "error": error(found["predicted_seconds"], seconds),
        "bytes": found["bytes"],
        "reserved_bytes": found["reserved_bytes"],
        "process_bytes": peak,
        "load": os.getloadavg()[0],
        "layers": layers(found["nodes"]),
    }


def predicted_again(options, model, plan):
    """Returns the seconds and error bar that are predicted now."""
    told = plan.with_suffix(".again")
    run(
        [
            options.programs / "planner",
            "show",
            plan,
            "--model",
            model,
            "--mem",
            options.mem,
            "--timings",
            options.timings,
            "--output",
            told,
        ]
    )
    block = re.search(r"^predicted \{(.*?)^\}", told.read_text(), re.MULTILINE | re.DOTALL).group(1)
    found = dict(re.findall(r"(seconds|error): (\S+)", block))
    return {"predicted_seconds": float(found["seconds"]), "bar": float(found.get("error", 0))}


def again(options, model, plan, row):
    told = predicted_again(options, model, plan)
    return {**row, **told, "error": error(told["predicted_seconds"], row["seconds"]), "layers": []}


def measure_all(options, model, plans):
    rows = []
    for number, plan in enumerate(plans, 1):
        kept = plan.with_suffix(".json")
        if not kept.exists():
            say(f"{model.stem}: {number} of {len(plans)}, {plan.stem}")
            write(kept, measure(options, model, plan, options.repetitions))
        row = json.loads(kept.read_text())
        rows.append(again(options, model, plan, row) if options.again else row)
    return rows


def contest(options, model, plans, rows):
    """Runs the fastest plans and the chosen one again, round after round. Compares their median voxels per second."""
    path = plans[0].parent / "contest.json"
    known = json.loads(path.read_text()) if path.exists() else []
    fastest = sorted(rows, key=lambda row: -row["voxels_per_second"])[:CONTESTANTS]
    chosen = ["chosen", *map(named, options.plan)]
    names = sorted({row["plan"] for row in fastest} | set(chosen))
    of_name = {plan.stem: plan for plan in plans}
    for turn in range(options.rounds):
        for name in names:
            if any(row["round"] == turn and row["plan"] == name for row in known):
                continue
            say(f"{model.stem}: again, round {turn + 1} of {options.rounds}, {name}")
            known.append({"round": turn, **measure(options, model, of_name[name], 1)})
            write(path, known)
    rates = {
        name: statistics.median(row["voxels_per_second"] for row in known if row["plan"] == name) for name in names
    }
    best = max(rates, key=rates.get)
    return {"best": best, "over_best": {name: rates[name] / rates[best] for name in chosen}, "voxels_per_second": rates}


def kept_within(rows):
    """Returns the share of the rows with an error bar that kept within it; None if no row has a bar."""
    told = [
        abs(math.log(row["seconds"] / row["predicted_seconds"])) <= math.log1p(row["bar"])
        for row in rows
        if row.get("bar", 0) > 0
    ]
    return sum(told) / len(told) if told else None


def summary(rows):
    errors = [row["error"] for row in rows]
    return {
        "plans": len(rows),
        "error_median": percentile(errors, 0.5),
        "error_ninth_decile": percentile(errors, 0.9),
        "plans_within_bar": kept_within(rows),
        "layers_within_bar": kept_within([layer for row in rows for layer in row.get("layers", [])]),
        "reserved_as_predicted": sum(row["reserved_bytes"] == row["bytes"] for row in rows),
        "max_process_over_plan": max((row["process_bytes"] / row["bytes"] for row in rows), default=None),
    }


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of planner and znni-bench")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder of plans and results")
    parser.add_argument("--model", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--mem", default="4G")
    parser.add_argument("--count", type=int, default=8, help="random plans of each model")
    parser.add_argument("--neighbours", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-seconds", default="60s")
    parser.add_argument("--patience", default="recorded", choices=("model", "recorded", "measure"))
    parser.add_argument("--timings", help="file of recorded timings (default: the planner's own)")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repetitions", type=int, default=2, help="warm runs of each plan")
    parser.add_argument("--rounds", type=int, default=3, help="of the fastest again; 0: none")
    parser.add_argument(
        "--plan",
        type=pathlib.Path,
        action="append",
        default=[],
        help="file of a further plan that runs beside the drawn ones, as named-FILE; of one --model alone",
    )
    parser.add_argument("--again", action="store_true", help="predict again, from --timings")
    options = parser.parse_args(arguments)
    if options.again and not options.timings:
        parser.error("--again needs --timings FILE")
    if options.plan and len(options.model) > 1:
        parser.error("--plan FILE goes with one --model")
    if len(set(map(named, options.plan))) < len(options.plan):
        parser.error("--plan FILE: two files have one name; each needs its own")
    return options


def main(arguments):
    options = parse(arguments)
    models, every = {}, []
    for model in options.model:
        folder = options.work / model.stem
        folder.mkdir(parents=True, exist_ok=True)
        plans = draw(options, model, folder)
        rows = measure_all(options, model, plans)
        every += rows
        models[model.stem] = {**summary(rows), "rows": rows}
        if options.rounds > 0:
            models[model.stem]["contest"] = contest(options, model, plans, rows)
    print(json.dumps({"all": summary(every), "models": models}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
