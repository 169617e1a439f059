"""A daemon for tests of the client: returns the voxels that it is sent, and breaks streams as a test says."""

import concurrent.futures
import contextlib
import threading

import grpc
from znni import wire

WHOLE = object()  # a stream that is answered to its end


class Refused:
    """A stream that ends with this status before it is accepted."""

    def __init__(self, code, words="not now"):
        self.code, self.words = code, words


class Broken(Refused):
    """A stream that ends with this status behind so many bytes of output."""

    def __init__(self, count, code=grpc.StatusCode.UNAVAILABLE):
        super().__init__(code, "broken")
        self.count = count


class Held:
    """A stream that sends so many bytes of output, and then nothing until the client ends it."""

    def __init__(self, count):
        self.count = count


class FakeDaemon:
    """Serves model "same", whose field of view is one voxel. `streams` says what becomes of one stream after the other,
    `part` in which parts a volume is best sent, `refusals` how often questions are refused before they are answered,
    `outlooks` with which statuses those for parts are, `voxel_seconds` what a voxel is predicted to take, `properties`
    what else the model's metadata has, `outputs` the names of its outputs. `headers`, `sent` and `metadata` are what
    came. `holds` is set if questions get no answer; `held` is set once the client waits for what does not come, and
    `left` once it has ended that."""

    def __init__(
        self,
        streams=(),
        part=None,
        token="token",
        model_tokens=(),
        refusals=0,
        outlooks=(),
        voxel_seconds=0.0,
        properties=(),
        outputs=("output",),
    ):
        self.streams, self.part, self.token = list(streams), part, token
        self.voxel_seconds, self.properties, self.outputs = voxel_seconds, dict(properties), outputs
        self.model_tokens, self.refusals, self.outlooks = list(model_tokens), refusals, list(outlooks)
        self.headers, self.metadata, self.sent = [], [], []
        self.loading = []  # what the model is at, one question after the other, before it is ready
        self.holds, self.held, self.left = False, threading.Event(), threading.Event()

    @contextlib.contextmanager
    def served(self):
        """Yields the address."""
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers(
            [
                self._service(
                    "znni.v1.Volumes",
                    Infer=(self._infer, wire.VolumeRequest, True),
                    Outlook=(self._outlook, wire.VolumeHeader, False),
                ),
                self._service(
                    "inference.GRPCInferenceService",
                    ModelReady=(self._ready, wire.ModelReadyRequest, False),
                    ModelMetadata=(self._model, wire.ModelMetadataRequest, False),
                    RepositoryIndex=(self._index, wire.RepositoryIndexRequest, False),
                ),
            ]
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()

    @staticmethod
    def _service(name, **methods):
        handlers = {}
        for method, (function, request, streams) in methods.items():
            kind = grpc.stream_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
            handlers[method] = kind(function, request.FromString, lambda message: message.SerializeToString())
        return grpc.method_handlers_generic_handler(name, handlers)

    @staticmethod
    def _end(context, code, words):
        context.set_trailing_metadata([("answered-by", "znnid")])
        context.abort(code, words)

    def _hold(self, context):
        """Returns once the client has ended the call."""
        if not context.add_callback(self.left.set):
            self.left.set()
        self.held.set()
        self.left.wait()

    def _ready(self, _, context):
        self.metadata.append(dict(context.invocation_metadata()))
        if self.holds:
            self._hold(context)
        if self.refusals:
            self.refusals -= 1
            self._end(context, grpc.StatusCode.UNAVAILABLE, "is loading")
        return wire.ModelReadyResponse(ready=True)

    def _model(self, request, context):
        if request.name != "same":
            self._end(context, grpc.StatusCode.NOT_FOUND, f"unknown model: '{request.name}'")
        given, *found = (
            wire.ModelMetadataResponse.TensorMetadata(name=name, shape=[-1, 1, -1, -1, -1])
            for name in ("x", *self.outputs)
        )
        return wire.ModelMetadataResponse(
            name="same",
            versions=["1", "3"],
            inputs=[given],
            outputs=found,
            properties={"field_of_view": "1,1,1", **self.properties},
        )

    def _index(self, _, context):
        own = ("same", "LOADING", self.loading.pop(0)) if self.loading else ("same", "READY", "")
        states = [own, ("other", "LOADING", "plans")]
        models = [wire.RepositoryIndexResponse.ModelIndex(name=n, state=s, reason=r) for n, s, r in states]
        return wire.RepositoryIndexResponse(models=models)

    def _outlook(self, header, context):
        if self.outlooks:
            self._end(context, self.outlooks.pop(0), "no outlook now")
        if self.part is None:
            self._end(context, grpc.StatusCode.UNIMPLEMENTED, "no outlook")
        seconds = self.voxel_seconds * header.extent.z * header.extent.y * header.extent.x
        return wire.VolumeOutlook(
            extent=header.extent,
            predicted_seconds=seconds,
            predicted_seconds_in_parts=seconds,
            part=wire.Extent(z=header.extent.z, y=self.part[0], x=self.part[1]),
        )

    def _infer(self, requests, context):
        header = next(requests).header
        self.headers.append(header)
        fate = self.streams.pop(0) if self.streams else WHOLE
        if isinstance(fate, Refused) and not isinstance(fate, Broken):
            self._end(context, fate.code, fate.words)
        yield wire.VolumeResponse(
            accepted=wire.VolumeAccepted(
                channels=header.channels,
                extent=header.extent,
                datatype=header.output_datatype,
                resume_token=self.token,
                model_token=self.model_tokens.pop(0) if self.model_tokens else "model",
            )
        )
        voxel = {"UINT8": 1, "UINT16": 2, "FP16": 2, "FP32": 4}[header.datatype]
        plane = voxel * header.channels * header.extent.y * header.extent.x
        first = header.first_plane * plane
        data = b"".join(request.chunk.data for request in requests)
        self.sent.append(data)
        if isinstance(fate, Held):
            yield wire.VolumeResponse(chunk=wire.VolumeChunk(offset=first, data=data[: fate.count]))
            return self._hold(context)
        end = len(data) if fate is WHOLE else max(0, fate.count - first)
        for at in range(0, end, 1000):
            yield wire.VolumeResponse(chunk=wire.VolumeChunk(offset=first + at, data=data[at : min(at + 1000, end)]))
        if fate is not WHOLE:
            self._end(context, fate.code, fate.words)
        yield wire.VolumeResponse(progress=wire.VolumeProgress(patches_done=1, patches=1))
        yield wire.VolumeResponse(done=wire.VolumeDone(bytes=end))
