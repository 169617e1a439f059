"""The channels of an output that a caller keeps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from znni.errors import InvalidError
from znni.model import Model

Channels = int | str | Sequence[int | str] | None


def chosen_channels(channels: Channels, model: Model) -> tuple[int, ...] | None:
    """Returns the channels of the model's output that ``channels`` names, in that order; None, all of them, for None.

    A name of an output stands for all its channels, a number for the channel; a text has several between commas. Raises
    InvalidError for what the model has not, or what is named twice.
    """
    if channels is None:
        return None
    found = [channel for one in _listed(channels, model) for channel in _channels_of(one, model)]
    if not found:
        raise _wrong(channels, model)
    twice = next((channel for channel in found if found.count(channel) > 1), None)
    if twice is not None:
        raise InvalidError(f"channels: channel {twice} is named more than once, expected each once")
    return tuple(found)


def _listed(channels: Any, model: Model) -> list:
    if isinstance(channels, str):
        return [channels] if channels in model.outputs else [part.strip() for part in channels.split(",")]
    try:
        return list(channels)
    except TypeError:
        return [channels]


def _channels_of(one: Any, model: Model) -> list[int]:
    """Returns the channels that a name or a number stands for."""
    if isinstance(one, str) and one in model.outputs:
        return list(range(*model.outputs[one].indices(model.output_channels)))
    try:
        number = int(one) if isinstance(one, str) and one.isdecimal() else operator.index(one)
    except TypeError:
        number = -1
    if isinstance(one, bool) or not 0 <= number < model.output_channels:
        raise _wrong(one, model)
    return [number]


def _wrong(found: Any, model: Model) -> InvalidError:
    names = ", ".join(f"'{name}'" for name in model.outputs)
    return InvalidError(
        f"channels: {found!r} found, expected numbers of channels from 0 to {model.output_channels - 1}, or names of "
        f"outputs ({names}), which model '{model.name}' has"
    )
