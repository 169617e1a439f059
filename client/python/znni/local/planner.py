"""Asks the program planner whether a network runs, and how it would be computed."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from znni.box import Triple, text_of
from znni.errors import Error, InvalidError, NotFoundError
from znni.local.installed import find_program
from znni.pytorch.export import Example
from znni.pytorch.network_file import NetworkFile, network_file

Network = str | os.PathLike | Any  # a file of ONNX or Caffe, or a torch.nn.Module


@dataclasses.dataclass(frozen=True, repr=False)
class Check:
    """Tells whether a network runs; it is true or false. ``text`` describes the network, or lists all that keeps it
    from running. ``facts`` is the answer of ``planner check --json``."""

    text: str
    facts: Mapping[str, Any]

    def __bool__(self) -> bool:
        return self.facts["runs"]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclasses.dataclass(frozen=True, repr=False)
class ValidForm:
    """Tells what becomes of a network without its padding. ``text`` says it node by node; ``facts`` is the answer of
    ``planner check --make-valid --json``."""

    text: str
    facts: Mapping[str, Any]

    @property
    def first(self) -> tuple[int, ...]:
        """Returns the voxel of the padded network's output that voxel 0 of the valid one's equals."""
        return tuple(self.facts["first_voxel"])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """Describes how a network would be computed on this machine. ``text`` is the plan as ``planner show`` prints it; a
    notebook shows a table. ``facts`` is the answer of ``planner --json``."""

    text: str
    facts: Mapping[str, Any]

    @property
    def voxels_per_second(self) -> float:
        """Returns the predicted output voxels per second, in the given volume or else in an endless one."""
        return self.facts["predicted"]["voxels_per_second"]

    @property
    def memory_bytes(self) -> int:
        """Returns the host RAM that the plan takes, weights included."""
        return self.facts["memory"]["host"]["peak"]

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        nodes = self.facts["nodes"]
        whole = sum(node["predicted_seconds"] * node["runs"] for node in nodes) or 1.0
        rows = "".join(_row(node, whole) for node in nodes)
        titles = "".join(f"<th>{title}</th>" for title in ("layer", "writes", "primitive", "place", "time", "share"))
        return (
            f"<p>{html.escape(self._summary())}</p><table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _summary(self) -> str:
        limit = self.facts["memory"]["limit"]
        return (
            f"{self.facts['model']}: {self.voxels_per_second / 1e6:.3g} million voxels/s, "
            f"{self.memory_bytes / 2**20:.1f} of {limit / 2**20:.0f} MiB, patches of "
            f"{text_of(tuple(self.facts['input'][-3:]))} voxels on {self.facts['machine']['name']}"
        )


def _row(node: Mapping[str, Any], whole: float) -> str:
    seconds = node["predicted_seconds"] * node["runs"]
    cells = (
        node["name"],
        text_of(tuple(node["shape"])),
        node["primitive"],
        node["place"],
        f"{seconds * 1e3:.3g} ms",
        f"{100 * seconds / whole:.0f} %",
    )
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def check(network: Network, *, example: Example = None) -> Check:
    """Returns whether ``network``, a file of ONNX or Caffe or a torch.nn.Module, runs here. What keeps it from running
    is in the answer: operators, how many nodes have each, and what helps. A module is exported to a temporary file, as
    ``compile`` does it, with the same ``example``; an answer names it by its class. Raises NotFoundError or
    InvalidError if the file is neither, or the module cannot be exported."""
    with network_file(network, example) as file:
        answers = [_ask(file, "check", file.path, *form, refused=True) for form in ((), ("--json",))]
    return Check(answers[0].rstrip(), json.loads(answers[1]))


def make_valid(network: Network, output: str | os.PathLike | None = None, *, example: Example = None) -> ValidForm:
    """Returns what becomes of ``network``, which is that of ``check``, without its padding, and writes that to
    ``output``, a file of ONNX, unless it is None. Raises InvalidError if the network does not run, or has no valid
    form, or cannot be written, and if ``output`` is the network itself."""
    with network_file(network, example) as file:
        told = ("check", file.path, "--make-valid")
        facts = json.loads(_ask(file, *told, "--json", refused=True))
        if facts.get("runs") is False:
            raise InvalidError(f"{file.name} does not run here: znni.check lists why")
        written = None if output is None else os.fspath(output)
        text = _ask(file, *told) if written is None else _ask(file, *told, written)
    return ValidForm(text.rstrip(), {**facts, "written": written})


def plan(
    network: Network,
    *,
    mem: str | int | None = None,
    threads: int | None = None,
    volume: Triple | None = None,
    example: Example = None,
) -> Plan:
    """Returns the fastest way to run ``network``, which is that of ``check``, on this machine.

    ``mem``
        The host RAM that it may take, "16G" or bytes; None is 0.8 of what is available.
    ``threads``
        That compute; None is all processors.
    ``volume``
        Voxels along z, y and x of the volume that it is for, whose border then counts.

    Raises InvalidError if the network does not run, or not in this memory.
    """
    options = {"--mem": mem, "--threads": threads, "--volume": volume and ",".join(map(str, volume))}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    with network_file(network, example) as file, tempfile.TemporaryDirectory(prefix="znni-") as folder:
        kept = pathlib.Path(folder) / "plan"
        facts = _ask(file, "--model", file.path, "--json", "--output", kept, *given)
        return Plan(_ask(file, "show", kept).rstrip(), json.loads(facts))


def _ask(file: NetworkFile, *arguments: Any, refused: bool = False) -> str:
    """Returns what planner prints, as users of Python may say it. Raises NotFoundError or InvalidError with its last
    line if it fails; with ``refused`` what it prints counts even then."""
    command = [find_program("planner", "ZNNI_PLANNER"), *map(os.fspath, arguments)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode == 0 or (refused and done.stdout):
        return file.named(_in_python(file, done.stdout))
    lines = done.stderr.strip().splitlines() or [f"planner ended with exit code {done.returncode}"]
    line = file.named(lines[-1].removeprefix("planner: "))
    kind = Error if done.returncode < 0 else NotFoundError if "no such file" in line else InvalidError
    raise kind(line)


def _in_python(file: NetworkFile, text: str) -> str:
    """Returns what planner says with calls in place of its own command lines."""
    call = f"znni.make_valid({file.argument}, 'valid.onnx')"
    return text.replace(f"planner check {file.path} --make-valid", call).replace("--make-valid OUT.onnx", call)
