"""Folders of S3-compatible object stores, s3://bucket/path, and of web servers, which are read only."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any

from znni.errors import AccessError, InvalidError, NotFoundError
from znni.stores.place import Place
from znni.stores.tensors import error_of, tensorstore_module

_RETRIES = {"max_retries": 6, "initial_delay": "500ms", "max_delay": "8s"}
_TRUE = ("yes", "true", "on", "1")
_AT_ONCE = 500  # files that are read together
_RANGES_AT_ONCE = 64  # parts of a file, likewise
_NONE_SUCH = ".znni-none-such/"  # what no folder has


def remote_scheme(path: str) -> str:
    """Returns "s3", "http" or "https" if the path is an address of these, else ""."""
    scheme = path.partition("://")[0]
    return scheme if scheme in ("s3", "http", "https") and path.startswith(f"{scheme}://") else ""


def _credentials() -> dict[str, Any]:
    """Returns the credentials that the environment names, or else the usual chain of AWS from a profile on: without the
    profile's name, TensorStore passes over it."""
    if os.environ.get("AWS_NO_SIGN_REQUEST", "").lower() in _TRUE:
        return {"aws_credentials": {"type": "anonymous"}}
    if os.environ.get("AWS_ACCESS_KEY_ID") and os.environ.get("AWS_SECRET_ACCESS_KEY"):
        return {"aws_credentials": {"type": "environment"}}
    return {"aws_credentials": {"type": "default", "profile": os.environ.get("AWS_PROFILE") or "default"}}


def _bucket(bucket: str, path: str) -> dict[str, Any]:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ("us-east-1" if endpoint else "")
    return {
        "driver": "s3",
        "bucket": bucket,
        "path": path,
        **_credentials(),
        **({"endpoint": endpoint.rstrip("/")} if endpoint else {}),
        **({"aws_region": region} if region else {}),
        "context": {"s3_request_retries": _RETRIES},
    }


def check_public(path: str) -> None:
    """Raises InvalidError for an address with user or password: it would be shown, and written into jobs."""
    front, separator, rest = path.rpartition("://")
    host = rest.partition("/")[0]
    if separator and "@" in host:
        raise InvalidError(
            f"{front}://...@{host.rpartition('@')[2]}: a user or password found in the address, where "
            "it is shown to others: keys of s3:// stand in the environment, web servers are read "
            "without"
        )


def check_address(path: str) -> None:
    """Raises InvalidError for an address that names nothing, or may name something by two names."""
    _split(path)


def _split(path: str) -> urllib.parse.SplitResult:
    """Returns the parts of an address. Raises as check_address() does."""
    check_public(path)
    try:
        parts = urllib.parse.urlsplit(path)
    except ValueError:  # of brackets
        parts = urllib.parse.SplitResult("", "", "", "", "")
    if not parts.netloc or parts.query or parts.fragment:
        raise InvalidError(
            f"{path}: this address found, expected s3://BUCKET/PATH, http://HOST/PATH or "
            "https://HOST/PATH without ? and #"
        )
    if any(name in ("", ".", "..") for name in parts.path.rstrip("/").split("/")[1:]):
        raise InvalidError(f"{path}: this address found, expected one without //, /./ and /../ in its path")
    return parts


def _kvstore(path: str) -> dict[str, Any]:
    """Returns what TensorStore calls a folder. Raises InvalidError for an address that names none."""
    parts = _split(path)
    inside = parts.path.strip("/")
    if parts.scheme == "s3":
        return _bucket(parts.netloc, inside + "/" if inside else "")
    inside = urllib.parse.unquote(inside)  # TensorStore encodes it
    return {
        "driver": "http",
        "base_url": f"{parts.scheme}://{parts.netloc}",
        "path": f"/{inside}/" if inside else "/",
        "context": {"http_request_retries": _RETRIES},
    }


class Remote(Place):
    """Is a folder at an address. Objects are written as a whole; there are no folders in themselves."""

    room = None

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/")
        self.kvstore = _kvstore(self.path)
        self._store: Any = None

    @property
    def is_writable(self) -> bool:
        """Returns whether files can be written there at all."""
        return self.kvstore["driver"] == "s3"

    @property
    def objects(self) -> Any:
        """Returns the folder as a KvStore of TensorStore."""
        if self._store is None:
            self._store = self._done(tensorstore_module("volumes at addresses").KvStore.open, self.kvstore)
        return self._store

    def _done(self, call: Any, *arguments: Any, name: str = "") -> Any:
        try:
            return call(*arguments).result()
        except Exception as error:  # of many classes
            raise error_of(error, f"{self.path}/{name}" if name else self.path) from None

    def inside(self, name: str) -> Place:
        return Remote(f"{self.path}/{name}")

    def read(self, name: str) -> bytes | None:
        found = self._done(self.objects.read, name, name=name)
        return found.value if found.state == "value" else None

    def read_all(self, names: Iterable[str]) -> list[bytes | None]:
        names, found = list(names), []
        for at in range(0, len(names), _AT_ONCE):
            reads = [(name, self.objects.read(name)) for name in names[at : at + _AT_ONCE]]
            for name, read in reads:
                result = self._done(lambda under_way=read: under_way, name=name)
                found.append(result.value if result.state == "value" else None)
        return found

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[bytes | None]:
        """Returns the bytes of a file from each begin to before each end; None where the file ends before. Raises
        NotFoundError if there is no such file."""
        found: list[bytes | None] = []
        for at in range(0, len(ranges), _RANGES_AT_ONCE):
            part = ranges[at : at + _RANGES_AT_ONCE]
            reads = [self.objects.read(name, byte_range=slice(begin, end)) for begin, end in part]
            found.extend(self._range(name, read) for read in reads)
        return found

    def _range(self, name: str, read: Any) -> bytes | None:
        try:
            result = read.result()
        except Exception as error:  # of many classes
            if str(error).startswith("OUT_OF_RANGE"):
                return None
            raise error_of(error, f"{self.path}/{name}") from None
        if result.state != "value":
            missing = NotFoundError(f"{self.path}/{name}: there is no such file")
            missing.is_of_store = True
            raise missing
        return result.value

    def write(self, name: str, data: bytes) -> None:
        self._done(self.objects.write, name, data, name=name)

    def remove(self, name: str) -> None:
        self._done(self.objects.write, name, None, name=name)

    def names(self) -> list[str]:
        return []  # it would be a list of all objects

    def found(self) -> str:
        return "no such objects found" if self.is_writable else "no such files found"

    def all_names(self, folder: str) -> list[str]:
        key_range = tensorstore_module().KvStore.KeyRange
        within = key_range(f"{folder}/", f"{folder}0") if folder else key_range()  # 0 follows / in ASCII
        return sorted(name.decode() for name in self._done(self.objects.list, within))

    def clear(self) -> None:
        self._done(self.objects.delete_range, tensorstore_module().KvStore.KeyRange())

    def check(self) -> None:
        if not self.is_writable:
            return
        try:
            self.all_names(_NONE_SUCH.rstrip("/"))
        except AccessError:
            return  # what may be read need not be listed

    def sync(self, names: list[str]) -> None:
        pass  # what was written lies there for good
