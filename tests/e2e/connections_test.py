"""Tests clients that attack at the level of connections."""

import concurrent.futures
import contextlib
import socket
import tempfile
import threading
import time
import unittest
from multiprocessing import shared_memory

import nets
import numpy as np
import raw_http2
import tritonclient.grpc as triton
from harness import Daemon
from tritonclient.utils import InferenceServerException

MODEL = "net"
IDLE = 300  # connections: more than the limit that a test is about
REFUSED = {"descriptors": "the last no descriptor is free", "client": "the last from 127.0.0.1: of this address"}
CALLS_OF_ATTACKER = 60_000
FLOOD = 32 << 20  # bytes of a connection that come without a pause
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
METADATA = "/inference.GRPCInferenceService/ServerMetadata"
INFER = "/inference.GRPCInferenceService/ModelInfer"


def infer(daemon):
    """Sends one request through a stock client, over its own connection."""
    volume = np.ones((1, 1, 14, 14, 14), np.float32)
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    with daemon.client() as client:
        return client.infer(MODEL, [tensor]).as_numpy("output")


def infer_when_there_is_room(daemon):
    """Does the same, and tries again while the daemon's threads are still busy with an attacker's calls."""
    while True:
        try:
            return infer(daemon)
        except InferenceServerException as error:
            if error.status() not in ("StatusCode.RESOURCE_EXHAUSTED", "StatusCode.UNAVAILABLE"):
                raise


def connected(daemon, count):
    """Returns connections that send nothing; refused ones are closed already."""
    return [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(count)]


def wait_until_seen(connections):
    """Waits until the daemon has greeted or closed each of them: none is left that it has not accepted."""
    for each in connections:
        with contextlib.suppress(OSError):
            each.recv(1)


def wait_for(holds):
    """Waits until `holds()`."""
    while not holds():
        time.sleep(0.01)


def wait_for_frame(connection, frame):
    """Waits until the daemon has sent `frame`."""
    received = b""
    while frame not in received:
        more = connection.recv(1 << 16)
        if not more:
            raise ConnectionError("the daemon closed the connection")
        received += more


def flood(connection, frames):
    """Sends `frames` over and over, without a pause, until the daemon has read it all, and again."""
    connection.sendall(raw_http2.BEGIN)
    wait_for_frame(connection, raw_http2.SETTINGS_TAKEN)
    for _ in range(2):
        for _ in range(FLOOD // len(frames)):
            connection.sendall(frames)
        connection.sendall(raw_http2.frame(raw_http2.SETTINGS, 0, 0))
        wait_for_frame(connection, raw_http2.SETTINGS_TAKEN)


class ConnectionsTest(unittest.TestCase):
    """Each test has its own daemon."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.repository = f"{cls.folder.name}/models"
        nets.save(nets.small_net(1), cls.repository, MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def survives_idle_connections(self, daemon, limit):
        """Opens more connections than the daemon may have files or takes of a client, and closes them again."""
        most = {"descriptors": daemon.metric("process_max_fds"), "client": daemon.metric("znni_connections_limit") // 2}
        self.assertGreater(IDLE, most[limit])
        before = infer(daemon)
        idle = connected(daemon, IDLE)
        wait_until_seen(idle)
        daemon.logged(REFUSED[limit])
        for each in idle:
            each.close()
        wait_for(lambda: daemon.metric("znni_connections") == 0)
        self.assertGreater(daemon.metric("znni_refused_connections_total", limit=limit), 0)
        np.testing.assert_array_equal(infer(daemon), before)
        self.assertEqual(daemon.page("/livez"), (200, "ok\n"))
        self.assertEqual(daemon.page("/readyz"), (200, "ok\n"))

    def connected_from_elsewhere(self, port):
        """Returns a connection from an address that no other client of the test has."""
        return socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))

    def attack(self, daemon, calls, begin):
        """Sends the frames that `begin` makes for calls from a number on, over many connections, from a separate
        address."""
        sent = 0
        while sent < calls:
            try:
                with socket.create_connection(
                    ("127.0.0.1", daemon.port), source_address=("127.0.0.2", 0)
                ) as connection:
                    connection.sendall(raw_http2.BEGIN)
                    for first in range(0, calls, 500):
                        sent += 500
                        connection.sendall(begin(first))
            except OSError:
                continue

    def holds_against(self, begin):
        """Expects the memory of a daemon under attack to stay within --mem, and other clients to be served after it."""
        with Daemon(self.repository, mem="512M") as daemon:
            before = infer(daemon)
            attackers = [
                threading.Thread(target=self.attack, args=(daemon, CALLS_OF_ATTACKER, begin)) for _ in range(4)
            ]
            for each in attackers:
                each.start()
            for each in attackers:
                each.join()
            daemon.logged("closed ")
            np.testing.assert_array_equal(infer_when_there_is_room(daemon), before)
            self.assertGreater(daemon.metric("znni_cut_connections_total"), 0)
            self.assertLess(daemon.memory("VmHWM"), 512 << 20)
            print(f"peak {daemon.memory('VmHWM') >> 20} MiB", end=" ")
            self.assertEqual(daemon.page("/livez"), (200, "ok\n"))

    def reads_past(self, kind, stream, payload):
        """Expects a daemon that is flooded with frames of one kind, over four connections, to reserve no memory for
        more, and to answer other clients as before."""
        frames = raw_http2.frame(kind, 0, stream, payload) * 50_000
        with Daemon(self.repository, mem="256M") as daemon:
            before = infer(daemon)
            began = daemon.memory("VmHWM")
            connections = [self.connected_from_elsewhere(daemon.port) for _ in range(4)]
            with concurrent.futures.ThreadPoolExecutor() as threads:
                floods = [threads.submit(flood, each, frames) for each in connections]
                np.testing.assert_array_equal(infer(daemon), before)
            for each, connection in zip(floods, connections):
                each.result()
                connection.close()
            print(f"peak {daemon.memory('VmHWM') >> 20} MiB, {began >> 20} before", end=" ")
            self.assertLess(daemon.memory("VmHWM"), began + (32 << 20))
            np.testing.assert_array_equal(infer(daemon), before)
            self.assertEqual(daemon.metric("znni_cut_connections_total"), 0)
            self.assertEqual(daemon.page("/livez"), (200, "ok\n"))

    def test_priorities_without_end(self):
        self.reads_past(raw_http2.PRIORITY, 1, bytes(5))

    def test_windows_that_grow_without_end(self):
        self.reads_past(raw_http2.WINDOW_UPDATE, 0, b"\0\0\0\1")

    def test_unknown_frames_without_end(self):
        self.reads_past(raw_http2.UNKNOWN, 0, b"")

    def test_pings_without_end(self):
        ping = raw_http2.frame(raw_http2.PING, 0, 0, b"is it up")
        answer = raw_http2.frame(raw_http2.PING, raw_http2.ACK, 0, b"is it up")
        with Daemon(self.repository, mem="256M") as daemon:
            before = infer(daemon)
            began = daemon.memory("VmHWM")
            with self.connected_from_elsewhere(daemon.port) as client:
                client.sendall(raw_http2.BEGIN)
                wait_for_frame(client, raw_http2.SETTINGS_TAKEN)
                for _ in range(20):
                    client.sendall(ping * 2000)
                    wait_for_frame(client, answer * 2000)
                np.testing.assert_array_equal(infer(daemon), before)
            self.assertLess(daemon.memory("VmHWM"), began + (32 << 20))

    def test_calls_that_are_reset_at_once(self):
        self.holds_against(lambda first: raw_http2.calls_taken_back(INFER, first, 500))

    def test_calls_that_are_left_open(self):
        self.holds_against(lambda first: raw_http2.calls_left_open(INFER, first, 500))

    def test_calls_of_one_client_that_never_send_a_message(self):
        with Daemon(self.repository) as daemon:
            before = infer(daemon)
            with self.connected_from_elsewhere(daemon.port) as attacker:
                attacker.sendall(raw_http2.BEGIN + raw_http2.calls_left_open(INFER, 0, 200))
                daemon.logged("of the client 127.0.0.2 are in flight")
                np.testing.assert_array_equal(infer(daemon), before)
                self.assertGreater(daemon.metric("znni_refusals_total", reason="client_calls"), 0)
                daemon.logged("code=DEADLINE_EXCEEDED")

    def test_idle_streams_of_reflection(self):
        with Daemon(self.repository) as daemon:
            before = infer(daemon)
            with self.connected_from_elsewhere(daemon.port) as attacker:
                attacker.sendall(raw_http2.BEGIN + raw_http2.calls_left_open(REFLECTION, 0, 200))
                daemon.logged("method=ServerReflection")
                np.testing.assert_array_equal(infer(daemon), before)

    def test_answers_that_nobody_takes(self):
        with Daemon(self.repository) as daemon:
            before = infer(daemon)
            with self.connected_from_elsewhere(daemon.port) as attacker:
                attacker.sendall(raw_http2.PREFACE + raw_http2.NO_WINDOW + raw_http2.calls_made(METADATA, 0, 200))
                daemon.logged("method=ServerMetadata")
                np.testing.assert_array_equal(infer(daemon), before)

    @contextlib.contextmanager
    def drips(self, daemon, text, source):
        """Returns 64 sockets that send `text`, then a byte now and then until the context ends."""
        ends = threading.Event()

        def begun():
            connection = socket.create_connection(("127.0.0.1", daemon.metrics_port), source_address=(source, 0))
            with contextlib.suppress(OSError):
                connection.sendall(text)
            return connection

        def drip():
            while not ends.wait(1):
                for each in sockets:
                    with contextlib.suppress(OSError):
                        each.sendall(b"x")

        sockets = [begun() for _ in range(64)]
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()
            for each in sockets:
                each.close()

    def test_requests_over_http_that_drip(self):
        with Daemon(self.repository) as daemon, self.drips(daemon, b"GET /livez HTTP/1.1\r\nX: ", "127.0.0.1"):
            daemon.logged("connections of the metrics port for others")
            for _ in range(3):
                self.assertEqual(daemon.page("/livez"), (200, "ok\n"))
            self.assertGreater(daemon.metric("znni_http_closed_connections_total", reason="share"), 0)

    def test_bodies_over_http_that_drip(self):
        head = f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".encode()
        with Daemon(self.repository) as daemon:
            before = infer(daemon)
            with self.drips(daemon, head, "127.0.0.2"):
                daemon.logged("of the client 127.0.0.2 are in flight")
                np.testing.assert_array_equal(infer(daemon), before)
                self.assertEqual(daemon.page("/livez"), (200, "ok\n"))

    def test_more_connections_than_files(self):
        with Daemon(
            self.repository, "--max-connections", "1000", "--max-connections-per-client", "1000", open_files=128
        ) as daemon:
            self.survives_idle_connections(daemon, "descriptors")

    def test_more_connections_than_allowed(self):
        with Daemon(self.repository, open_files=128) as daemon:
            self.assertEqual(daemon.metric("znni_connections_limit"), 64)
            self.survives_idle_connections(daemon, "client")

    def test_as_many_regions_of_shared_memory_as_there_may_be(self):
        """Each region keeps a descriptor; so do connections, of which others come beside them."""
        memory = shared_memory.SharedMemory(create=True, size=4096)
        self.addCleanup(memory.unlink)
        self.addCleanup(memory.close)
        with Daemon(self.repository, "--allow-client-shm", open_files=1024) as daemon:
            with daemon.client() as client:
                for number in range(1024 // 8):
                    client.register_system_shared_memory(f"region {number}", memory.name, memory.size)
                with self.assertRaisesRegex(InferenceServerException, "128 shared memory regions are registered"):
                    client.register_system_shared_memory("one more", memory.name, memory.size)
                self.assertEqual(len(client.get_system_shared_memory_status().regions), 128)
            self.assertEqual(daemon.metric("process_max_fds"), 1024)
            self.assertGreater(daemon.metric("process_open_fds"), 128)
            self.survives_idle_connections(daemon, "client")
            with daemon.client() as client:
                client.unregister_system_shared_memory()
                client.register_system_shared_memory("one more", memory.name, memory.size)

    def test_the_metrics_port_answers_beside_connections_up_to_the_limit(self):
        with Daemon(
            self.repository, "--max-connections", "40", "--max-connections-per-client", "40", open_files=128
        ) as daemon:
            idle = connected(daemon, 60)
            self.assertEqual(daemon.page("/livez"), (200, "ok\n"))
            self.assertLessEqual(daemon.metric("znni_connections"), 40)
            for each in idle:
                each.close()


if __name__ == "__main__":
    unittest.main()
