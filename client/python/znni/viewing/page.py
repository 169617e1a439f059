"""Writes the page: one file of HTML that needs no other."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, TextIO

import numpy as np

from znni.viewing.grid import Axis
from znni.viewing.levels import Levels
from znni.viewing.png import encode
from znni.viewing.run_result import RunFacts


@dataclasses.dataclass(frozen=True)
class Channel:
    """Is one channel of a volume: its ``number``, its ``levels`` and the ``pixels``, uint8 [Z, Y, X]."""

    number: int
    levels: Levels
    pixels: np.ndarray


@dataclasses.dataclass(frozen=True)
class Shown:
    """Is a volume of the page: ``role`` is input or output, ``first`` its first cells along z, y and x, ``facts`` are
    what is said of it."""

    role: str
    name: str
    first: Sequence[int]
    channels: Sequence[Channel]
    facts: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Space:
    """Says where cells lie: ``axes`` are those of z, y and x, in voxels of ``size``, of which the first, number 0, lies
    at ``origin``, in ``units``."""

    axes: Sequence[Axis]
    size: Sequence[float]
    origin: Sequence[float]
    units: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Page:
    """Is all that a page shows. ``notes`` are lines that everybody should read."""

    title: str
    space: Space
    volumes: Sequence[Shown]
    run: RunFacts
    notes: Sequence[str]


def write_page(page: Page, file: TextIO) -> None:
    """Writes the page, picture by picture."""
    text = _asset("page.html")
    parts = {
        "title": _escaped(page.title),
        "style": _asset("page.css"),
        "notes": "".join(f"<li>{_escaped(note)}</li>" for note in page.notes),
        "facts": "".join(_table(volume.role, volume.facts) for volume in page.volumes) + _table("run", page.run.others),
        "seconds": _seconds(page.run.seconds),
        "script": _asset("page.js"),
    }
    for piece in text.split("{{"):
        name, closing, rest = piece.partition("}}")
        if not closing:
            file.write(piece)
        elif name == "volumes":
            file.writelines(_volumes(page))
            file.write(rest)
        else:
            file.write(parts[name] + rest)


def _asset(name: str) -> str:
    return resources.files("znni.viewing").joinpath(name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    return html.escape(text).encode("utf-8", "replace").decode()  # names of files may be no text


def _json(value: Any) -> str:
    """Returns JSON that may stand within a script, whatever texts are in it."""
    return json.dumps(value).replace("<", "\\u003c")


def _named(name: str) -> str:
    return _escaped(name.replace("_", " "))


def _table(title: str, facts: Mapping[str, str]) -> str:
    """Returns a row for each fact, nothing if there is none."""
    rows = "".join(f"<tr><th>{_named(name)}</th><td>{_escaped(text)}</td></tr>" for name, text in facts.items())
    return f"<section><h2>{title}</h2><table>{rows}</table></section>" if rows else ""


def _seconds(seconds: Mapping[str, float]) -> str:
    """Returns bars, the longest as wide as there is room."""
    most = max(seconds.values(), default=0.0) or 1.0
    rows = "".join(
        f'<tr><th>{_named(name)}</th><td class="number">{value:.3g} s</td>'
        f'<td class="bar"><div style="width: {100 * value / most:.1f}%"></div></td></tr>'
        for name, value in seconds.items()
    )
    return f"<section><h2>times</h2><table>{rows}</table></section>" if rows else ""


def _volumes(page: Page) -> Iterator[str]:
    """Yields the JSON that the script reads."""
    space = {
        "begin": [axis.begin for axis in page.space.axes],
        "step": [axis.step for axis in page.space.axes],
        "count": [axis.count for axis in page.space.axes],
        "extent": [axis.extent for axis in page.space.axes],
        "size": list(page.space.size),
        "origin": list(page.space.origin),
        "units": list(page.space.units),
    }
    yield f'{{"space": {_json(space)}, "volumes": ['
    for number, volume in enumerate(page.volumes):
        shape = list(volume.channels[0].pixels.shape)
        head = _json({"role": volume.role, "first": list(volume.first), "shape": shape})
        yield f'{"," if number else ""}{head[:-1]}, "channels": ['
        for at, channel in enumerate(volume.channels):
            yield "," if at else ""
            yield from _channel(channel)
        yield "]}"
    yield "]}"


def _channel(channel: Channel) -> Iterator[str]:
    levels = channel.levels
    head = _json(
        {
            "number": channel.number,
            "low": levels.low,
            "high": levels.high,
            "window": list(levels.window),
            "histogram": list(levels.histogram),
        }
    )
    yield f'{head[:-1]}, "slices": ['
    for at, picture in enumerate(channel.pixels):
        yield f'{"," if at else ""}"data:image/png;base64,{base64.b64encode(encode(picture)).decode()}"'
    yield "]}"
