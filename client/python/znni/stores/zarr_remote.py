"""Lets zarr read and write folders at addresses, whose objects TensorStore transfers. Needs zarr."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from znni.errors import AccessError
from znni.stores.formats.zarr_store import DESCRIPTIONS
from znni.stores.remote import Remote
from znni.stores.tensors import error_of


def _slice(wanted: ByteRequest | None) -> slice | None:
    if isinstance(wanted, RangeByteRequest):
        return slice(wanted.start, wanted.end)
    if isinstance(wanted, OffsetByteRequest):
        return slice(wanted.offset, None)
    return slice(-wanted.suffix, None) if isinstance(wanted, SuffixByteRequest) else None


class RemoteStore(Store):
    """Is a folder at an address, for zarr. If it ``holds_back``, what describes groups and arrays is written by
    release() alone.

    ``refused`` is the last error of reading what describes a group or an array. Where objects cannot be listed, S3
    refuses those that are missing, too, and zarr asks for files of both of its versions.
    """

    def __init__(self, place: Remote, *, read_only: bool = False, holds_back: bool = False) -> None:
        super().__init__(read_only=read_only)
        self._place = place
        self.refused: AccessError | None = None
        self._held: dict[str, bytes] | None = {} if holds_back else None

    def release(self) -> None:
        """Writes what was held back, that of what lies deepest first."""
        held, self._held = self._held or {}, None
        for name in sorted(held, key=lambda name: -name.count("/")):
            self._place.write(name, held[name])

    def with_read_only(self, read_only: bool = False) -> RemoteStore:
        other = RemoteStore(self._place, read_only=read_only)
        other._held = self._held
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteStore) and self._place.path == other._place.path

    def __hash__(self) -> int:
        return hash(self._place.path)

    def __str__(self) -> str:
        return self._place.path

    async def _done(self, future: Any, name: str) -> Any:
        try:
            return await future
        except Exception as error:  # of many classes
            raise error_of(error, f"{self._place.path}/{name}") from None

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        if self._held is not None and key in self._held:
            return prototype.buffer.from_bytes(self._held[key])
        try:
            found = await self._done(self._place.objects.read(key, byte_range=_slice(byte_range)), key)
        except AccessError as error:
            if key.rpartition("/")[2] not in DESCRIPTIONS:
                raise
            self.refused = error
            return None
        return prototype.buffer.from_bytes(found.value) if found.state == "value" else None

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, wanted) for key, wanted in key_ranges)))

    async def exists(self, key: str) -> bool:
        if self._held is not None and key in self._held:
            return True
        return (await self._done(self._place.objects.read(key), key)).state == "value"

    @property
    def supports_writes(self) -> bool:
        return self._place.is_writable

    @property
    def supports_deletes(self) -> bool:
        return self._place.is_writable

    @property
    def supports_listing(self) -> bool:
        return self._place.is_writable

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        if self._held is not None and key.rpartition("/")[2] in DESCRIPTIONS:
            self._held[key] = value.to_bytes()
            return
        await self._done(self._place.objects.write(key, value.to_bytes()), key)

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._done(self._place.objects.write(key, None), key)

    async def list(self) -> AsyncIterator[str]:
        async for name in self.list_prefix(""):
            yield name

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for name in await asyncio.to_thread(self._place.all_names, prefix.strip("/")):
            yield name

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        prefix = prefix.strip("/")
        names = await asyncio.to_thread(self._place.all_names, prefix)
        for name in sorted({name[len(prefix) :].strip("/").partition("/")[0] for name in names}):
            yield name
