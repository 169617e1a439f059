"""A model repository of one network, as znnid reads it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from collections.abc import Mapping

from znni.errors import InvalidError, NotFoundError

Config = str | os.PathLike | Mapping[str, object] | None


def _entry(key: str, value: object) -> str:
    """Returns a parameter in the text form of config.pbtxt."""
    whole = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    text = whole.replace("\\", "\\\\").replace('"', '\\"')
    return f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}\n'


def own_config(network: pathlib.Path) -> pathlib.Path | None:
    """Returns the configuration of a network that lies in a repository: MODEL/VERSION/model.onnx or model.prototxt."""
    beside = network.parent.parent / "config.pbtxt"
    is_model = network.name in ("model.onnx", "model.prototxt") and network.parent.name.isdigit()
    return beside if is_model and beside.is_file() else None


def files_of(network: pathlib.Path) -> list[pathlib.Path]:
    """Returns the files of a network: that of Caffe has its numbers in a file beside it."""
    return [network, network.with_suffix(".caffemodel")] if network.suffix == ".prototxt" else [network]


def _name_of(network: pathlib.Path) -> str:
    name = network.parent.parent.name if own_config(network) else network.stem
    return name if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) else "net"


def make_repository(folder: str | os.PathLike, network: str | os.PathLike, config: Config) -> str:
    """Makes a repository in ``folder`` and returns the name of its model.

    ``config`` is a config.pbtxt, or parameters of one such as {"input_scale": 1 / 255, "window": (64, 64, 64)}; None is
    the config.pbtxt of the network, if it lies in a repository itself. Raises NotFoundError if a file is missing.
    """
    path = pathlib.Path(network).absolute()
    if path.suffix not in (".onnx", ".prototxt"):
        raise InvalidError(f"{network}: this kind of network is not read: expected FILE.onnx or FILE.prototxt")
    config = own_config(path) if config is None else config
    own = files_of(path)
    files = own if config is None or isinstance(config, Mapping) else [*own, pathlib.Path(config)]
    for file in files:
        if not file.is_file():
            raise NotFoundError(f"{file}: there is no such file")
    name = _name_of(path)
    model = pathlib.Path(folder) / name
    (model / "1").mkdir(parents=True)
    for file in own:
        (model / "1" / f"model{file.suffix}").symlink_to(file)
    if isinstance(config, Mapping):
        (model / "config.pbtxt").write_text("".join(_entry(key, value) for key, value in config.items()))
    elif config is not None:
        shutil.copyfile(config, model / "config.pbtxt")
    return name
