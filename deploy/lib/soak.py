"""Load and faults for a daemon, for as long as one likes; see deploy/soak."""

import argparse
import collections
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import grpc
import numpy as np
import tritonclient.grpc as triton

import nets
from harness import Daemon, volumes_stubs

messages, services = volumes_stubs()
SHAPES = 40  # distinct volumes
CHUNK = 1 << 18
PATIENCE = 300  # seconds until a request that nobody answered counts as lost
UNITS = {"M": 1 << 20, "G": 1 << 30}
SIDE, PLANES = 1024, 2049  # of the large volume: 2 GiB and a plane


class Tally:
    """What happened, counted by all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.requests = collections.Counter()
        self.faults = collections.Counter()
        self.wrong = []
        self.lost = []
        self.unexpected = collections.Counter()

    def note(self, counter, key):
        """One more of `key`."""
        with self.lock:
            counter[key] += 1

    def expect(self, what, error, allowed):
        """An error that is no answer to what was done is told in the report."""
        code = error.code().name if isinstance(error, grpc.RpcError) else str(error.status()).removeprefix("StatusCode.")
        self.note(self.requests, code)
        if code == "DEADLINE_EXCEEDED" and "DEADLINE_EXCEEDED" not in allowed:
            with self.lock:
                self.lost.append(what)
        elif code not in allowed:
            self.note(self.unexpected, f"{what}: {code}")


class Volumes:
    """A fixed set of volumes and what they become: known from a float64 evaluation, then to the last digits."""

    def __init__(self, net, seed):
        rng = np.random.default_rng(seed)
        extents = [rng.integers(10, 90, 3) for _ in range(SHAPES)]
        self.inputs = [rng.random((1, *extent), np.float32) for extent in extents]
        self.outputs = [None] * SHAPES
        self.net = net
        self.lock = threading.Lock()

    def is_right(self, index, output):
        """The first answer is compared with the net itself, all others with the first: those computed on patches of
        another size are rounded otherwise."""
        with self.lock:
            if self.outputs[index] is None:
                reference = nets.run_dilated(self.net, self.inputs[index][None])[0]
                if output.shape != reference.shape or np.abs(output - reference).max() > 1e-4 * np.abs(reference).max():
                    return False
                self.outputs[index] = output
            first = self.outputs[index]
            return output.shape == first.shape and np.abs(output - first).max() <= 1e-5 * np.abs(first).max()


def upload(volume, model, pause=0.0, spoil=None, cut=None):
    """The messages of a volume: slowly, with a hole at chunk `spoil`, or without those after `cut`."""
    extent = messages.Extent(z=volume.shape[1], y=volume.shape[2], x=volume.shape[3])
    yield messages.VolumeRequest(header=messages.VolumeHeader(
        model_name=model, id="soak", datatype="FP32", channels=volume.shape[0], extent=extent))
    data = np.ascontiguousarray(volume.transpose(1, 0, 2, 3)).tobytes()
    for number, offset in enumerate(range(0, len(data), CHUNK)):
        if number == cut:
            return
        time.sleep(pause)
        at = offset + (1 if number == spoil else 0)
        yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=at, data=data[offset:offset + CHUNK]))


def download(responses, pause=0.0):
    """The output of a stream [C,Z,Y,X]; None when it ended without done."""
    accepted, data, done = None, bytearray(), False
    for response in responses:
        kind = response.WhichOneof("message")
        if kind == "accepted":
            accepted = response.accepted
        elif kind == "chunk":
            time.sleep(pause)
            data += response.chunk.data
        done = done or kind == "done"
    if not done:
        return None
    shape = (accepted.extent.z, accepted.channels, accepted.extent.y, accepted.extent.x)
    return np.frombuffer(bytes(data), np.float32).reshape(shape).transpose(1, 0, 2, 3)


def plane(z):
    """Plane z of the large volume: no plane is like those near it."""
    return PATTERN[z % 251:z % 251 + SIDE * SIDE].tobytes()


PATTERN = (np.arange(SIDE * SIDE + 251) % 251).astype(np.uint8)


def large_upload():
    """The messages of the large volume, made as they are sent."""
    yield messages.VolumeRequest(header=messages.VolumeHeader(
        model_name="same", id="large", datatype="UINT8", output_datatype="UINT8", channels=1,
        extent=messages.Extent(z=PLANES, y=SIDE, x=SIDE)))
    for z in range(PLANES):
        yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=z * SIDE * SIDE, data=plane(z)))


def bytes_that_differ(responses):
    """(bytes that came, those of them that are not what was sent)."""
    pending, came, differ = bytearray(), 0, 0
    for response in responses:
        pending += response.chunk.data
        while len(pending) >= SIDE * SIDE:
            sent = plane(came // (SIDE * SIDE))
            if pending[:SIDE * SIDE] != sent:
                differ += int(np.count_nonzero(np.frombuffer(bytes(pending[:SIDE * SIDE]), np.uint8) !=
                                               np.frombuffer(sent, np.uint8)))
            del pending[:SIDE * SIDE]
            came += SIDE * SIDE
    return came + len(pending), differ + len(pending)


class Worker(threading.Thread):
    """Does one thing after the other, drawn at random, until the time is up."""

    def __init__(self, soak, seed):
        super().__init__()
        self.soak = soak
        self.random = random.Random(seed)

    def run(self):
        actions = [(self.infer, 6), (self.stream, 6), (self.slow_reader, 1), (self.slow_writer, 1), (self.cancel, 2),
                   (self.short_deadline, 1), (self.malformed, 1), (self.broken_upload, 1), (self.killed_client, 1),
                   (self.reload, 1)]
        kinds, weights = zip(*actions)
        while time.monotonic() < self.soak.end:
            action = self.random.choices(kinds, weights)[0]
            index = self.random.randrange(SHAPES)
            try:
                action(index)
            except (grpc.RpcError, triton.InferenceServerException) as error:
                allowed = {"RESOURCE_EXHAUSTED", "UNAVAILABLE"}
                self.soak.tally.expect(action.__name__, error, allowed)

    def check(self, index, output, what):
        tally = self.soak.tally
        tally.note(tally.requests, "OK")
        if output is None or not self.soak.volumes.is_right(index, output):
            with tally.lock:
                tally.wrong.append(f"{what}, volume {index}")

    def fault(self, name):
        self.soak.tally.note(self.soak.tally.faults, name)

    def infer(self, index):
        volume = self.soak.volumes.inputs[index][None]
        with self.soak.daemon.client() as client:
            tensor = triton.InferInput("input", list(volume.shape), "FP32")
            tensor.set_data_from_numpy(volume)
            result = client.infer("net", [tensor], client_timeout=PATIENCE, priority=self.random.randrange(4))
            self.check(index, result.as_numpy(self.soak.output_name)[0], "infer")

    def call(self, requests, timeout=PATIENCE):
        return services.VolumesStub(self.soak.channel).Infer(requests, timeout=timeout)

    def stream(self, index, pause_up=0.0, pause_down=0.0):
        responses = self.call(upload(self.soak.volumes.inputs[index], "net", pause_up))
        self.check(index, download(responses, pause_down), "stream")

    def slow_reader(self, index):
        self.fault("slow reader")
        self.stream(index, pause_down=0.2)

    def slow_writer(self, index):
        self.fault("slow writer")
        self.stream(index, pause_up=0.2)

    def cancel(self, index):
        self.fault("cancelled stream")
        responses = self.call(upload(self.soak.volumes.inputs[index], "net"))
        timer = threading.Timer(self.random.random() * 0.3, responses.cancel)
        timer.start()
        try:
            self.check(index, download(responses), "cancelled stream")
        except grpc.RpcError as error:
            self.soak.tally.expect("cancel", error, {"CANCELLED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"})
        timer.cancel()

    def short_deadline(self, index):
        self.fault("short deadline")
        try:
            responses = self.call(upload(self.soak.volumes.inputs[index], "net"), timeout=self.random.random() * 0.2)
            self.check(index, download(responses), "short deadline")
        except grpc.RpcError as error:
            self.soak.tally.expect("short deadline", error, {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"})

    def malformed(self, _):
        self.fault("malformed request")
        send = self.soak.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        try:
            send(self.random.randbytes(self.random.randrange(1, 3000)), timeout=PATIENCE)
        except grpc.RpcError as error:
            self.soak.tally.expect("malformed", error,
                                   {"INVALID_ARGUMENT", "NOT_FOUND", "INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED"})

    def broken_upload(self, index):
        self.fault("broken upload")
        spoilt = {"spoil": 0} if self.random.random() < 0.5 else {"cut": 0}
        try:
            if download(self.call(upload(self.soak.volumes.inputs[index], "net", **spoilt))) is not None:
                with self.soak.tally.lock:
                    self.soak.tally.wrong.append("a broken upload was computed")
        except grpc.RpcError as error:
            self.soak.tally.expect("broken upload", error, {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "UNAVAILABLE"})

    def killed_client(self, _):
        self.fault("killed client")
        client = subprocess.Popen([sys.executable, __file__, "--be-killed", self.soak.daemon.url])
        time.sleep(0.5 + self.random.random() * 2)
        client.send_signal(signal.SIGKILL)
        client.wait()

    def reload(self, _):
        """The second model comes and goes."""
        self.fault("model unloaded and loaded")
        with self.soak.reloading, self.soak.daemon.client() as client:
            client.unload_model("second")
            client.load_model("second")


class Soak:
    """One run: a daemon, its load, and the report."""

    def __init__(self, options, repository):
        self.options = options
        self.tally = Tally()
        self.rss = []
        net = nets.small_net(options.seed)
        nets.save(net, repository, "net")
        nets.save(nets.small_net(options.seed + 1), repository, "second")
        nets.save(nets.same_net(), repository, "same", config=nets.SAME_CONFIG)
        self.volumes = Volumes(net, options.seed)
        self.reloading = threading.Lock()
        self.daemon = Daemon(repository, "--model-control-mode", "explicit", "--load-model", "*",
                             "--max-request-bytes", "16M", mem=options.mem).wait_ready()
        with self.daemon.client() as client:
            self.output_name = client.get_model_metadata("net").outputs[0].name
        self.channel = self.daemon.channel()
        self.end = time.monotonic() + options.minutes * 60

    def watch(self):
        """Memory every few seconds, and whether it still serves."""
        while time.monotonic() < self.end:
            self.rss.append(self.daemon.memory("VmRSS"))
            if self.daemon.page("/livez")[0] != 200:
                self.tally.note(self.tally.unexpected, "/livez failed")
            time.sleep(2)

    def run(self):
        workers = [Worker(self, self.options.seed * 1000 + number) for number in range(self.options.workers)]
        for worker in workers:
            worker.start()
        self.watch()
        for worker in workers:
            worker.join()
        large = self.stream_large_volume()
        report = self.report() | large
        self.channel.close()
        report["exit code after SIGTERM"] = self.daemon.stop()
        return report

    def stream_large_volume(self):
        """More than 2 GiB in each direction, in one stream."""
        start = time.monotonic()
        came, differ = bytes_that_differ(services.VolumesStub(self.channel).Infer(large_upload()))
        return {"bytes of one large volume": came, "wrong bytes of it": differ + abs(came - PLANES * SIDE * SIDE),
                "seconds of it": round(time.monotonic() - start, 1)}

    def report(self):
        peak = self.daemon.memory("VmHWM")
        limit = int(self.options.mem[:-1]) * UNITS[self.options.mem[-1]]
        fifth = max(len(self.rss) // 5, 1)
        load = pathlib.Path("/proc/loadavg").read_text().split()[:3]
        return {
            "minutes": self.options.minutes, "seed": self.options.seed, "load average": load,
            "requests": dict(self.tally.requests), "faults": dict(self.tally.faults),
            "wrong": self.tally.wrong, "lost": self.tally.lost, "unexpected": dict(self.tally.unexpected),
            "memory limit MiB": limit >> 20, "memory peak MiB": peak >> 20,
            "RSS MiB, median of each fifth": [int(np.median(self.rss[i:i + fifth])) >> 20
                                              for i in range(0, len(self.rss), fifth)][:5],
            "leased at the end": self.settled_lease(), "within limit": peak <= limit,
        }

    def settled_lease(self):
        """Transport memory that nobody holds any more is back."""
        deadline = time.monotonic() + 30
        while (held := self.daemon.metric("znni_memory_used_bytes", pool="transport")) and time.monotonic() < deadline:
            time.sleep(0.2)
        return int(held)


def be_killed(url):
    """A client that uploads for ever."""
    volume = np.zeros((1, 60, 60, 60), np.float32)
    stub = services.VolumesStub(grpc.insecure_channel(url))
    while True:
        download(stub.Infer(upload(volume, "net", pause=0.3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--mem", default="1G", help="of the daemon: 512M, 2G")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--output", default="soak.json")
    parser.add_argument("--be-killed", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be_killed:
        be_killed(options.be_killed)
    with tempfile.TemporaryDirectory() as repository:
        report = Soak(options, repository).run()
    text = json.dumps(report, indent=1)
    pathlib.Path(options.output).write_text(text + "\n")
    print(text)
    good = (not report["wrong"] and not report["wrong bytes of it"] and not report["lost"] and
            not report["unexpected"] and report["within limit"] and report["leased at the end"] == 0 and
            report["exit code after SIGTERM"] == 0)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
