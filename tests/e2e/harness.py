"""Starts znnid on a free port for a test, or for all tests of a class, waits until it serves, and stops it."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import grpc
import onnx
import tritonclient.grpc as triton

ROOT = pathlib.Path(__file__).resolve().parents[2]
ZNNID = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "znnid"
LONGEST_START = 600  # seconds; only a bound for a hang
# Plans that daemons of this process share if they have the same memory, because planning takes most of a start.
PLANS = tempfile.TemporaryDirectory()


class Daemon:
    """One running znnid, which may have `open_files` open. `log` grows while it runs. As a context it waits until all
    models are served, or with ready=False only until it listens. No connection of another process takes a port of an
    `address` that only this test uses."""

    def __init__(
        self,
        repository,
        *arguments,
        address="127.0.0.1",
        port=0,
        metrics_port=0,
        mem="1G",
        ready=True,
        environment=None,
        plans=None,
        open_files=None,
    ):
        self.ready = ready
        self.address = address
        self.folder = tempfile.TemporaryDirectory()
        command = [
            ZNNID,
            "--model-repository",
            repository,
            "--plan-dir",
            plans or f"{PLANS.name}/{mem}",
            "--grpc-address",
            address,
            "--grpc-port",
            str(port),
            "--metrics-port",
            str(metrics_port),
            "--mem",
            mem,
            *arguments,
        ]
        if open_files:
            command = ["prlimit", f"--nofile={open_files}:{open_files}", *command]
        environment = dict(os.environ, XDG_STATE_HOME=f"{self.folder.name}/state", **(environment or {}))
        self.process = subprocess.Popen(
            [str(word) for word in command], stderr=subprocess.PIPE, text=True, env=environment
        )
        self.log = []
        self.port = None
        self.metrics_port = None
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))
            metrics = re.search(r"metrics on \S+:(\d+)", line)
            if metrics:
                self.metrics_port = int(metrics[1])
            match = re.search(r"listening on \S+:(\d+)", line)
            if match:
                self.port = int(match[1])
                self._listening.set()
        self._listening.set()

    def wait_listening(self):
        """Waits until it has a port. Fails if it ended instead."""
        self._listening.wait(LONGEST_START)
        if self.port is None:
            raise RuntimeError("znnid does not listen:\n" + "\n".join(self.log))
        return self

    def wait_ready(self):
        """Waits until every model is served."""
        self.wait_listening()
        deadline = time.monotonic() + LONGEST_START
        with self.client() as client:
            while not client.is_server_ready():
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("znnid is not ready:\n" + "\n".join(self.log))
                time.sleep(0.05)
        return self

    def logged(self, words, count=1):
        """Waits until the log has `count` lines with these words, which may come after the daemon's answer. Returns all
        such lines. Fails if the daemon ends without them."""
        deadline = time.monotonic() + LONGEST_START
        while True:
            ended = not self._reader.is_alive()
            lines = [line for line in self.log if words in line]
            if len(lines) >= count:
                return lines
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"{len(lines)} of {count} log lines with '{words}':\n" + "\n".join(self.log))
            time.sleep(0.01)

    @property
    def url(self):
        """Returns the daemon's address."""
        return f"{self.address}:{self.port}"

    def client(self):
        """Returns a stock client."""
        return triton.InferenceServerClient(self.url)

    def channel(self):
        """Returns a bare channel without limits on messages."""
        return grpc.insecure_channel(
            self.url, [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        )

    def page(self, path):
        """Returns (status, text) of a page of the metrics port."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name, **labels):
        """Returns the sum of a metric's samples that have these labels."""
        total = 0.0
        for line in self.page("/metrics")[1].splitlines():
            match = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
            if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
                total += float(match[2])
        return total

    def memory(self, field):
        """Returns the bytes of a line of /proc/<pid>/status: VmRSS, VmHWM."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", text)[1]) * 1024

    def stop(self, number=signal.SIGTERM):
        """Sends the signal. Returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Waits until it has ended by itself. Returns the exit code."""
        code = self.process.wait(LONGEST_START)
        self._reader.join()
        self.process.stderr.close()
        self.folder.cleanup()
        return code

    def __enter__(self):
        return self.wait_ready() if self.ready else self.wait_listening()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()


class ServedCase(unittest.TestCase):
    """Tests of one `daemon`, which has the memory `mem` and serves `models`: ONNX models by name, each with the text
    `config` if that is given. A subclass sets these; `folder` is for files of its own."""

    models = {}
    config = None
    mem = "512M"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        repository = pathlib.Path(cls.folder.name) / "models"
        for name, model in cls.models.items():
            save_model(model, repository, name, cls.config)
        cls.daemon = Daemon(repository, mem=cls.mem)
        cls.addClassCleanup(cls.daemon.__exit__, None, None, None)
        cls.daemon.__enter__()


def save_model(model, repository, name, config=None):
    """Writes the ONNX model into a repository. Returns the folder of its version."""
    folder = pathlib.Path(repository) / name / "1"
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    if config:
        (folder.parent / "config.pbtxt").write_text(config)
    return folder


def memory_left():
    """Returns the bytes that processes here may still take: the system's, and those of a container that has less."""
    with open("/proc/meminfo", encoding="ascii") as facts:
        left = int(next(line for line in facts if line.startswith("MemAvailable")).split()[1]) << 10
    for most, taken, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = pathlib.Path("/sys/fs/cgroup", most), pathlib.Path("/sys/fs/cgroup", taken)
        statistics = limit.with_name("memory.stat")
        if not (limit.exists() and used.exists() and statistics.exists()) or limit.read_text() == "max\n":
            continue
        reclaimable = re.search(rf"^{cached} (\d+)$", statistics.read_text(), re.MULTILINE)
        left = min(left, int(limit.read_text()) - int(used.read_text()) + int(reclaimable[1] if reclaimable else 0))
    return left


def volumes_stubs():
    """Generates and returns (messages, services) of proto/volumes.proto."""
    from grpc_tools import protoc

    folder = tempfile.mkdtemp()
    code = protoc.main(
        ["protoc", f"-I{ROOT}", f"--python_out={folder}", f"--grpc_python_out={folder}", "proto/volumes.proto"]
    )
    if code != 0:
        raise RuntimeError("protoc failed on proto/volumes.proto")
    sys.path.insert(0, folder)
    from proto import volumes_pb2, volumes_pb2_grpc

    return volumes_pb2, volumes_pb2_grpc
