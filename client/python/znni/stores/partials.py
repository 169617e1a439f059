"""Outputs that are not complete, in folders of this machine or at addresses."""

from __future__ import annotations

from znni.stores.partial import Partial
from znni.stores.remote import remote_scheme
from znni.stores.remote_partial import RemotePartial


def partial_of(path: str, overwrite: bool, container: str = "") -> Partial | RemotePartial:
    """Returns the output at a path, as Partial describes it."""
    return RemotePartial(path, overwrite) if remote_scheme(path) else Partial(path, overwrite, container)
