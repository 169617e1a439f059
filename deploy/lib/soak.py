"""Puts a daemon under load and faults for a given time; see deploy/soak."""

import argparse
import functools
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

import grpc
import nets
import numpy as np
import soak_killed
import tritonclient.grpc as triton
from harness import Daemon, volumes_stubs
from soak_killed import PATIENCE
from soak_tally import Tally

messages, services = volumes_stubs()
SHAPES = 40  # distinct volumes
CHUNK = 1 << 18
AFTER_RESTART = 5  # seconds after a restart for which clients may find no daemon
UNITS = {"M": 1 << 20, "G": 1 << 30}
SIDE, PLANES = 1024, 2049  # of the large volume: 2 GiB and a plane


class Volumes:
    """A fixed set of volumes and their outputs, known first from a float64 evaluation, then to the last digit."""

    def __init__(self, net, seed):
        rng = np.random.default_rng(seed)
        extents = [rng.integers(10, 90, 3) for _ in range(SHAPES)]
        self.inputs = [rng.random((1, *extent), np.float32) for extent in extents]
        self.outputs = [None] * SHAPES
        self.net = net
        self.lock = threading.Lock()

    def is_right(self, index, output):
        """Returns whether an output is right. Compares a volume's first output with the net itself, later ones with the
        first. Outputs that were computed on patches of another size round differently."""
        with self.lock:
            if self.outputs[index] is None:
                reference = nets.run_dilated(self.net, self.inputs[index][None])[0]
                if output.shape != reference.shape or np.abs(output - reference).max() > 1e-4 * np.abs(reference).max():
                    return False
                self.outputs[index] = output
            first = self.outputs[index]
            return output.shape == first.shape and np.abs(output - first).max() <= 1e-5 * np.abs(first).max()


def upload(volume, model, pause=0.0, spoil=None, cut=None):
    """Yields the messages of a volume: with pauses, with a gap at chunk `spoil`, or without the chunks after `cut`."""
    extent = messages.Extent(z=volume.shape[1], y=volume.shape[2], x=volume.shape[3])
    yield messages.VolumeRequest(
        header=messages.VolumeHeader(
            model_name=model, id="soak", datatype="FP32", channels=volume.shape[0], extent=extent
        )
    )
    data = np.ascontiguousarray(volume.transpose(1, 0, 2, 3)).tobytes()
    for number, offset in enumerate(range(0, len(data), CHUNK)):
        if number == cut:
            return
        time.sleep(pause)
        at = offset + (1 if number == spoil else 0)
        yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=at, data=data[offset : offset + CHUNK]))


def download(responses, pause=0.0):
    """Returns the output of a stream [C,Z,Y,X]; None if it ended without VolumeDone."""
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
    """Returns plane z of the large volume, which differs from all planes near it."""
    return PATTERN[z % 251 : z % 251 + SIDE * SIDE].tobytes()


PATTERN = (np.arange(SIDE * SIDE + 251) % 251).astype(np.uint8)


def large_upload():
    """Yields the messages of the large volume, made as they are sent."""
    yield messages.VolumeRequest(
        header=messages.VolumeHeader(
            model_name="same",
            id="large",
            datatype="UINT8",
            output_datatype="UINT8",
            channels=1,
            extent=messages.Extent(z=PLANES, y=SIDE, x=SIDE),
        )
    )
    for z in range(PLANES):
        yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=z * SIDE * SIDE, data=plane(z)))


def bytes_that_differ(responses):
    """Returns (number of bytes received, number of those that differ from what was sent)."""
    pending, came, differ = bytearray(), 0, 0
    for response in responses:
        pending += response.chunk.data
        while len(pending) >= SIDE * SIDE:
            sent = plane(came // (SIDE * SIDE))
            if pending[: SIDE * SIDE] != sent:
                differ += int(
                    np.count_nonzero(
                        np.frombuffer(bytes(pending[: SIDE * SIDE]), np.uint8) != np.frombuffer(sent, np.uint8)
                    )
                )
            del pending[: SIDE * SIDE]
            came += SIDE * SIDE
    return came + len(pending), differ + len(pending)


class Worker(threading.Thread):
    """Does random actions, one after the other, until the time is up."""

    def __init__(self, soak, seed):
        super().__init__()
        self.soak = soak
        self.random = random.Random(seed)

    def run(self):
        actions = [
            (self.infer, 6),
            (self.stream, 6),
            (self.slow_reader, 1),
            (self.slow_writer, 1),
            (self.cancel, 2),
            (self.short_deadline, 1),
            (self.malformed, 1),
            (self.broken_upload, 1),
            (self.reload, 1),
        ]
        actions += [(functools.partial(self.killed, kind), 1) for kind in soak_killed.CLIENTS]
        kinds, weights = zip(*actions)
        while time.monotonic() < self.soak.end:
            self.do(self.random.choices(kinds, weights)[0], self.random.randrange(SHAPES))

    def do(self, action, index):
        """Does one action. The report lists errors that do not fit it."""
        self.what, self.fits, began = "", set(), time.monotonic()
        try:
            action(index)
        except (grpc.RpcError, triton.InferenceServerException) as error:
            self.refused(began, *soak_killed.code_and_message(error))
        except Exception as error:  # not a valid answer
            self.soak.tally.note(self.soak.tally.unexpected, f"{self.what}: {error!r}")

    def refused(self, began, code, message):
        self.soak.tally.refusal(self.what, code, message, self.fits, self.soak.was_restarted_since(began))
        time.sleep(0.1)

    def check(self, index, output):
        is_right = output is not None and self.soak.volumes.is_right(index, output)
        self.soak.tally.answer(f"{self.what}, volume {index}", is_right)

    def fault(self, name, *fits):
        """Notes the fault that begins now and the kinds of refusals that fit it."""
        self.what, self.fits = name, set(fits)
        self.soak.tally.note(self.soak.tally.faults, name)

    def infer(self, index):
        self.what = "infer"
        volume = self.soak.volumes.inputs[index][None]
        with self.soak.daemon.client() as client:
            tensor = triton.InferInput("input", list(volume.shape), "FP32")
            tensor.set_data_from_numpy(volume)
            result = client.infer("net", [tensor], client_timeout=PATIENCE, priority=self.random.randrange(4))
            self.check(index, result.as_numpy(self.soak.output_name)[0])

    def call(self, requests, timeout=PATIENCE):
        return services.VolumesStub(self.soak.channel).Infer(requests, timeout=timeout)

    def stream(self, index):
        self.what = "stream"
        self.transfer(index)

    def transfer(self, index, pause_up=0.0, pause_down=0.0, timeout=PATIENCE):
        responses = self.call(upload(self.soak.volumes.inputs[index], "net", pause_up), timeout)
        self.check(index, download(responses, pause_down))

    def slow_reader(self, index):
        self.fault("slow reader")
        self.transfer(index, pause_down=0.2)

    def slow_writer(self, index):
        self.fault("slow writer")
        self.transfer(index, pause_up=0.2)

    def cancel(self, index):
        self.fault("cancelled stream", "CANCELLED")
        responses = self.call(upload(self.soak.volumes.inputs[index], "net"))
        timer = threading.Timer(self.random.random() * 0.3, responses.cancel)
        timer.start()
        try:
            self.check(index, download(responses))
        finally:
            timer.cancel()

    def short_deadline(self, index):
        self.fault("short deadline", "DEADLINE_EXCEEDED")
        self.transfer(index, timeout=self.random.random() * 0.2)

    def malformed(self, _):
        """Sends random bytes: no message, a message without a model, or one that would need more than its memory."""
        self.fault("malformed request", "INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED")
        send = self.soak.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
        send(self.random.randbytes(self.random.randrange(1, 3000)), timeout=PATIENCE)
        self.soak.tally.answer("malformed request", False)

    def broken_upload(self, index):
        self.fault("broken upload", "INVALID_ARGUMENT")
        spoilt = {"spoil": 0} if self.random.random() < 0.5 else {"cut": 0}
        if download(self.call(upload(self.soak.volumes.inputs[index], "net", **spoilt))) is not None:
            self.soak.tally.answer("broken upload", False)

    def killed(self, kind, _):
        """Kills a client at a random time in its repeated work."""
        self.what, began = f"killed client: {kind}", time.monotonic()
        with self.soak.one_at_a_time[kind], soak_killed.start(kind, self.soak.daemon.url) as client:
            first = client.stdout.readline().rstrip("\n")
            if first == "begun":
                self.fault(self.what)
                time.sleep(self.random.random())
            client.kill()
        if first != "begun":
            code, _, message = first.partition("\t")
            self.refused(began, code, message)
        if kind == "shared memory":
            soak_killed.clear(client.pid, self.soak.daemon)

    def reload(self, _):
        """Unloads and loads the second model."""
        self.fault("model unloaded and loaded")
        with self.soak.reloading, self.soak.daemon.client() as client:
            client.unload_model("second")
            client.load_model("second")


class Soak:
    """One run: a daemon, its load and the report."""

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
        self.one_at_a_time = {kind: threading.Lock() for kind in soak_killed.CLIENTS}
        self.repository = repository
        self.peak = 0
        self.exit_codes = []
        self.restarted = float("-inf")  # last time at which clients could find no daemon
        self.daemon = None
        self.plans = tempfile.TemporaryDirectory()
        self.start()
        with self.daemon.client() as client:
            self.output_name = client.get_model_metadata("net").outputs[0].name
        self.begin = time.monotonic()
        self.end = self.begin + options.minutes * 60

    def start(self):
        """Starts a daemon, on the port of the one before and with its plans."""
        port = self.daemon.port if self.daemon else 0
        self.daemon = Daemon(
            self.repository,
            "--model-control-mode",
            "explicit",
            "--load-model",
            "*",
            "--max-request-bytes",
            "16M",
            "--max-queue",
            "3",
            "--allow-client-shm",
            port=port,
            mem=self.options.mem,
            plans=self.plans.name,
        )
        self.daemon.wait_ready()
        self.channel = grpc.insecure_channel(
            self.daemon.url, [("grpc.max_receive_message_length", -1), ("grpc.max_reconnect_backoff_ms", 500)]
        )

    def stop(self):
        self.peak = max(self.peak, self.daemon.memory("VmHWM"))
        self.exit_codes.append(self.daemon.stop())

    def restart(self):
        """Stops the daemon with SIGTERM under load, and starts another on the same port."""
        self.tally.note(self.tally.faults, "SIGTERM and restart")
        self.restarted = float("inf")
        self.stop()
        self.start()
        self.restarted = time.monotonic() + AFTER_RESTART

    def was_restarted_since(self, began):
        return self.restarted >= began

    def watch(self):
        """Checks memory and service every few seconds, and restarts the daemon in the last fifth of the time."""
        restarts = [self.begin + share * (self.end - self.begin) for share in (0.8, 0.87, 0.94)]
        while time.monotonic() < self.end:
            self.rss.append(self.daemon.memory("VmRSS"))
            if self.daemon.page("/livez")[0] != 200:
                self.tally.note(self.tally.unexpected, "/livez failed")
            if restarts and time.monotonic() > restarts[0]:
                restarts.pop(0)
                self.restart()
            time.sleep(2)

    def run(self):
        workers = [Worker(self, self.options.seed * 1000 + number) for number in range(self.options.workers)]
        for worker in workers:
            worker.start()
        self.watch()
        for worker in workers:
            worker.join()
        large = self.stream_large_volume()
        lease = self.settled_lease()
        self.channel.close()
        self.stop()
        return self.report() | large | {"leased at the end": lease}

    def stream_large_volume(self):
        """Streams more than 2 GiB in each direction, in one stream."""
        start = time.monotonic()
        came, differ = bytes_that_differ(services.VolumesStub(self.channel).Infer(large_upload()))
        return {
            "bytes of one large volume": came,
            "wrong bytes of it": differ + abs(came - PLANES * SIDE * SIDE),
            "seconds of it": round(time.monotonic() - start, 1),
        }

    def report(self):
        limit = int(self.options.mem[:-1]) * UNITS[self.options.mem[-1]]
        fifth = max(len(self.rss) // 5, 1)
        load = pathlib.Path("/proc/loadavg").read_text().split()[:3]
        return {
            "minutes": self.options.minutes,
            "seed": self.options.seed,
            "load average": load,
            **self.tally.report(),
            "memory limit MiB": limit >> 20,
            "memory peak MiB": self.peak >> 20,
            "RSS MiB, median of each fifth": [
                int(np.median(self.rss[i : i + fifth])) >> 20 for i in range(0, len(self.rss), fifth)
            ][:5],
            "within limit": self.peak <= limit,
            "exit codes after SIGTERM": self.exit_codes,
        }

    def settled_lease(self):
        """Returns the transport memory that is still held, after waiting up to 30 s for it to be freed."""
        deadline = time.monotonic() + 30
        while (held := self.daemon.metric("znni_memory_used_bytes", pool="transport")) and time.monotonic() < deadline:
            time.sleep(0.2)
        return int(held)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--mem", default="1G", help="of the daemon: 512M, 2G")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--output", default="soak.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as repository:
        soak = Soak(options, repository)
        try:
            report = soak.run()
        finally:
            soak.daemon.process.kill()  # the daemon of a run that broke off
    text = json.dumps(report, indent=1)
    pathlib.Path(options.output).write_text(text + "\n")
    print(text)
    good = (
        soak.tally.is_good()
        and soak.tally.right > 0
        and not report["wrong bytes of it"]
        and report["within limit"]
        and report["leased at the end"] == 0
        and not any(report["exit codes after SIGTERM"])
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
