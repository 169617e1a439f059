"""Runs jobs: part after part, each through a stream, which goes on where it broke."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import grpc

from znni.box import Box
from znni.calls.route import Route
from znni.calls.stop import ending
from znni.errors import Error, OverBudgetError, ReplacedError, UnavailableError
from znni.job import Job
from znni.progress import Silent
from znni.stores.seam import Target
from znni.streaming.download import Download
from znni.streaming.kept_writer import KeptWriter
from znni.streaming.padded_source import PaddedSource
from znni.streaming.parts import cut
from znni.streaming.upload import Upload
from znni.voxel_type import wire_name

_OTHER_PLAN = "has another plan, or another model meanwhile, whose voxels do not belong to those that are there"
# Statuses of Outlook after which the job can go on in one stream; any other would end the stream, too.
_NEEDLESS = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL)


class Run:
    """Streams the parts of ``jobs``, one after the other, of one model, into ``target``, which it begins when the
    daemon has accepted the first.

    ``route`` leads to the daemon, and to others where a stream is to begin or, with ``resume``, to go on.
    """

    def __init__(
        self,
        route: Route,
        jobs: Sequence[Job],
        target: Target,
        progress: Silent,
        resume: bool,
    ) -> None:
        self._route = route
        self._jobs = jobs
        self._job = jobs[0]
        self._target = target
        self._progress = progress
        self._resume = resume
        self._has_begun = False
        self._model_token = ""
        self._voxels = 0  # of the parts that are done

    def run(self) -> None:
        """Blocks until the outputs are written. Raises the first error."""
        for job in self._jobs:
            self._job = job
            for part in self._parts():
                self._run_part(part)
                self._voxels += math.prod(part.extent)

    def _parts(self) -> list[Box]:
        whole = Box((0, 0, 0), self._job.streamed)
        try:
            part = self._route.ask(lambda daemon: daemon.outlook(self._job.header(whole))).part
        except Error as error:
            if error.code not in _NEEDLESS:
                raise
            if error.code != grpc.StatusCode.UNIMPLEMENTED:
                warnings.warn(
                    f"in which parts the volume is best computed is not known, it goes in one stream: {error}",
                    stacklevel=2,
                )
            return [whole]
        if min(part.y, part.x) < 1:
            raise Error(f"the daemon names parts of {part.y} rows and {part.x} columns, expected at least one of each")
        return cut(self._job.streamed, (part.z, part.y, part.x))

    def _run_part(self, part: Box) -> None:
        writer = KeptWriter(self._target, part, self._job)
        planes, token = 0, ""
        patience, broke = self._route.patience(), None
        while True:
            download = Download(
                (self._job.model.output_channels, *part.extent),
                self._job.dtype,
                wire_name(self._job.dtype),
                planes,
                writer.write,
            )
            try:
                self._stream(part, download, token)
                return writer.flush()
            except (UnavailableError, OverBudgetError) as error:
                if not self._may_go_on(error, download, token):
                    raise
                if download.planes > planes:
                    patience = self._route.patience()
                broke = error
            except ReplacedError as error:
                if not self._route.reject(_OTHER_PLAN):
                    raise
                self._route.go_on(broke or error, patience)
                continue
            self._route.go_on(broke, patience)
            token = download.accepted.resume_token if download.accepted else token
            planes = min(download.planes, part.extent[0] - 1)

    def _may_go_on(self, error: Error, download: Download, token: str) -> bool:
        """Returns whether the stream can be opened again after ``error``: from the beginning, as long as nothing came,
        else if there is a token for it."""
        token = download.accepted.resume_token if download.accepted else token
        if download.planes == 0:
            return isinstance(error, UnavailableError) or self._has_begun
        return self._resume and bool(token)

    def _stream(self, part: Box, download: Download, token: str) -> None:
        """Streams a part from the plane that ``download`` misses first."""
        source = PaddedSource(self._job.source, self._job.pad, self._job.input_of(part), self._job.mirror)
        first = download.planes
        upload = Upload(
            self._job.header(part, first, token if first else ""), source.slabs(first), first * source.plane_bytes
        )
        connection = self._route.connection
        call = connection.stream(upload)
        upload.cancel = call.cancel
        try:
            with ending(call.cancel):
                for message in call:
                    download.take(message)
                    self._follow(part, message, download)
            if download.done is None:
                raise UnavailableError("the daemon ended the stream before the output was complete")
        except (grpc.RpcError, Error) as error:
            if upload.error:  # then the daemon may have taken what came for all
                raise upload.error from None
            if isinstance(error, Error):
                raise
            raise self._explained(connection.explained(error), source) from None
        finally:
            call.cancel()
            upload.close()

    def _follow(self, part: Box, message: Any, download: Download) -> None:
        kind = message.WhichOneof("message")
        if kind == "accepted":
            self._accept(download.accepted)
        elif kind == "progress" and message.progress.patches:
            now = message.progress
            share = min(1.0, (now.patches_done + now.part) / now.patches)
            planes = download.first + share * (part.extent[0] - download.first)
            self._progress.show(self._voxels + planes * part.extent[1] * part.extent[2])

    def _accept(self, accepted: Any) -> None:
        if self._model_token and accepted.model_token != self._model_token:
            raise ReplacedError(
                "the daemon's model or plan is another than that of the planes that are there: start over"
            )
        self._model_token = accepted.model_token
        if not self._has_begun:
            self._route.bind(self._job.model)
            self._target.begin()
        self._has_begun = True

    def _explained(self, error: Error, source: PaddedSource) -> Error:
        if error.code != grpc.StatusCode.INVALID_ARGUMENT or not source.nonfinite:
            return error
        text = f"{error}; the first voxel of {self._job.source.name} that is not finite is at {source.nonfinite}"
        return type(error)(text, error.code)
