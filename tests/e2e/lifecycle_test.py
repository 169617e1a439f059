"""Tests start, probes, reflection and end of the daemon."""

import json
import pathlib
import queue
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import nets
import numpy as np
import tritonclient.grpc as triton
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from harness import ZNNID, Daemon

# Limit for messages with volumes that take a while.
LARGE_MESSAGES = ("--max-request-bytes", "256M")
SERVING = health_pb2.HealthCheckResponse.SERVING


def infer(daemon, extent):
    """Sends a large volume of zeros."""
    with daemon.client() as client:
        tensor = triton.InferInput("input", [1, 1, *extent], "UINT8")
        tensor.set_data_from_numpy(np.zeros((1, 1, *extent), np.uint8))
        return client.infer("net", [tensor]).get_response()


def wait_until_closed(daemon):
    """Sends volumes that are too small, which wait in no line, until the daemon looks at none any more."""
    while True:
        try:
            infer(daemon, (5, 5, 5))
        except triton.InferenceServerException as error:
            if "INVALID_ARGUMENT" not in error.status():
                return


class LifecycleTest(unittest.TestCase):
    """Each test has its own daemon."""

    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.TemporaryDirectory()
        nets.save(nets.small_net(1), cls.repository.name, "net")

    @classmethod
    def tearDownClass(cls):
        cls.repository.cleanup()

    def daemon(self, *arguments, **options):
        """Returns a daemon with the one model."""
        return Daemon(self.repository.name, *arguments, **options)

    def test_probes_and_reflection(self):
        with self.daemon() as daemon, daemon.channel() as channel:
            health = health_pb2_grpc.HealthStub(channel)
            for service in ("", "inference.GRPCInferenceService", "znni.v1.Volumes"):
                watch = health.Watch(health_pb2.HealthCheckRequest(service=service))
                self.assertTrue(any(reply.status == SERVING for reply in watch), service)
                watch.cancel()
                reply = health.Check(health_pb2.HealthCheckRequest(service=service))
                self.assertEqual(reply.status, SERVING, service)
            reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
            ask = reflection_pb2.ServerReflectionRequest(list_services="")
            reply = next(reflection.ServerReflectionInfo(iter([ask])))
            names = {service.name for service in reply.list_services_response.service}
            self.assertLessEqual({"inference.GRPCInferenceService", "znni.v1.Volumes", "grpc.health.v1.Health"}, names)

    def test_stock_client_sees_the_model(self):
        with self.daemon() as daemon, daemon.client() as client:
            self.assertTrue(client.is_server_live())
            self.assertTrue(client.is_model_ready("net"))
            self.assertEqual(client.get_server_metadata().name, "znni")
            metadata = client.get_model_metadata("net")
            self.assertEqual(list(metadata.inputs[0].shape), [-1, 1, -1, -1, -1])
            self.assertEqual(client.get_model_config("net").config.max_batch_size, 0)
            infer(daemon, (20, 20, 20))
            statistics = client.get_inference_statistics("net").model_stats[0]
            self.assertEqual(statistics.inference_count, 1)
            self.assertEqual(statistics.inference_stats.success.count, 1)

    def test_a_busy_port_is_refused_with_one_line(self):
        with self.daemon() as daemon:
            second = self.daemon(port=daemon.port)
            self.assertEqual(second.wait(), 1)
            errors = [line for line in second.log if " error " in line]
            self.assertEqual(len(errors), 1, second.log)
            self.assertIn(f"port {daemon.port} is in use", errors[0])
            infer(daemon, (12, 12, 12))

    def test_sigterm_and_sigint_end_well(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.daemon().wait_ready()
            self.assertEqual(daemon.stop(number), 0, daemon.log)
            self.assertIn("stopped", daemon.log[-1])

    def test_a_supervisor_hears_of_start_life_and_end(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(f"{folder}/notify")
            supervisor.settimeout(60)
            daemon = self.daemon(environment={"NOTIFY_SOCKET": f"{folder}/notify"})
            self.assertEqual(supervisor.recv(100), b"READY=1")
            daemon.wait_listening()
            self.assertEqual(supervisor.recv(100), b"WATCHDOG=1")
            self.assertEqual(daemon.stop(), 0, daemon.log)
            supervisor.setblocking(False)
            while (message := supervisor.recv(100)) == b"WATCHDOG=1":
                pass
            self.assertEqual(message, b"STOPPING=1")

    def test_sigterm_while_loading(self):
        daemon = self.daemon().wait_listening()
        self.assertEqual(daemon.stop(), 0, daemon.log)
        self.assertFalse([line for line in daemon.log if " error " in line])

    def start_inference(self, daemon, extent):
        """Starts a request in a thread. Returns the thread and its answers once the job runs or stands in line."""
        replies = []

        def run():
            try:
                replies.append(infer(daemon, extent))
            except triton.InferenceServerException as error:
                replies.append(error)

        before = daemon.metric("znni_jobs")
        thread = threading.Thread(target=run)
        thread.start()
        while not replies and daemon.metric("znni_jobs") <= before:
            time.sleep(0.01)
        return thread, replies

    def test_sigterm_finishes_what_is_inside_and_refuses_the_rest(self):
        daemon = self.daemon("--exit-timeout-secs", "1000", *LARGE_MESSAGES, mem="2G").wait_ready()
        thread, replies = self.start_inference(daemon, (250, 250, 250))
        self.assertEqual(replies, [], "the volume is too small to be caught in flight")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until_closed(daemon)
        with self.assertRaises(triton.InferenceServerException) as caught:
            infer(daemon, (12, 12, 12))
        self.assertIn("UNAVAILABLE", str(caught.exception))
        self.assertEqual(daemon.wait(), 0)
        thread.join()
        self.assertNotIsInstance(replies[0], Exception, replies)
        self.assertEqual(len(replies[0].raw_output_contents[0]), 2 * 241**3 * 4)

    def test_sigterm_does_not_wait_for_an_idle_stream(self):
        daemon = self.daemon("--exit-timeout-secs", "1000").wait_ready()
        tensor = triton.InferInput("input", [1, 1, 12, 12, 12], "UINT8")
        tensor.set_data_from_numpy(np.zeros((1, 1, 12, 12, 12), np.uint8))
        replies = queue.Queue()
        with daemon.client() as client:
            client.start_stream(callback=lambda result, error: replies.put((result, error)))
            client.async_stream_infer("net", [tensor])
            self.assertIsNone(replies.get(timeout=60)[1])
            self.assertEqual(daemon.stop(), 0)
            error = replies.get(timeout=60)[1]
            self.assertIn("UNAVAILABLE", error.status())
            self.assertIn("shutting down", error.message())
            with self.assertRaises(triton.InferenceServerException, msg="no request waits for an answer in vain"):
                client.async_stream_infer("net", [tensor])

    def test_a_lame_duck_is_not_ready_and_serves(self):
        daemon = self.daemon("--lame-duck-secs", "1000").wait_ready()
        daemon.process.send_signal(signal.SIGTERM)
        while daemon.page("/readyz")[0] == 200:
            time.sleep(0.01)
        self.assertIn("shutting down", daemon.page("/readyz")[1])
        self.assertEqual(daemon.page("/livez")[0], 200)
        with daemon.client() as client:
            self.assertFalse(client.is_server_ready())
            self.assertFalse(client.is_model_ready("net"))
        infer(daemon, (12, 12, 12))
        self.assertEqual(daemon.stop(), 128 + signal.SIGTERM, "a second signal ends it at once")

    def test_after_the_exit_timeout_the_rest_is_stopped(self):
        daemon = self.daemon("--exit-timeout-secs", "0.3", *LARGE_MESSAGES, mem="2G").wait_ready()
        thread, replies = self.start_inference(daemon, (300, 300, 300))
        self.assertEqual(replies, [], "the volume is too small to be caught in flight")
        self.assertEqual(daemon.stop(), 0)
        thread.join()
        self.assertIn("UNAVAILABLE", replies[0].status())

    def test_sigterm_with_jobs_in_line(self):
        """Waiting jobs are stopped like the running one when the time is up."""
        daemon = self.daemon("--exit-timeout-secs", "0.3", *LARGE_MESSAGES, mem="3G").wait_ready()
        jobs = [self.start_inference(daemon, (250, 250, 250)) for _ in range(2)]
        self.assertEqual([replies for _, replies in jobs], [[], []], "the volumes are too small to be caught in flight")
        self.assertEqual(daemon.stop(), 0)
        for thread, replies in jobs:
            thread.join()
            self.assertIn("UNAVAILABLE", replies[0].status())

    def test_a_second_signal_ends_at_once(self):
        daemon = self.daemon(*LARGE_MESSAGES, mem="2G").wait_ready()
        thread, _ = self.start_inference(daemon, (300, 300, 300))
        daemon.process.send_signal(signal.SIGTERM)
        daemon.logged("stopping")
        self.assertEqual(daemon.stop(), 128 + signal.SIGTERM)
        thread.join()

    def test_json_log(self):
        daemon = self.daemon("--log-format", "json").wait_ready()
        infer(daemon, (12, 12, 12))
        daemon.stop()
        lines = [json.loads(line) for line in daemon.log]
        calls = [line for line in lines if line["message"] == "call"]
        self.assertEqual((calls[0]["model"], calls[0]["code"]), ("net", "OK"))
        options = {line["name"]: line["value"] for line in lines if line["message"] == "option"}
        self.assertEqual((options["grpc-port"], options["exit-timeout-secs"]), (0, 30))
        self.assertEqual(next(line["process"] for line in lines if line["message"] == "memory"), 64 << 20)

    def run_once(self, *arguments):
        """Runs a command that ends by itself."""
        return subprocess.run([ZNNID, *arguments], capture_output=True, text=True, timeout=60)

    def test_wrong_use_is_one_line(self):
        for arguments in (
            (),
            ("--model-repository", self.repository.name, "--mem", "much"),
            ("--model-repository", self.repository.name, "--what"),
        ):
            result = self.run_once(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_system_without_threads_is_one_line(self):
        """Stacks are larger than the address space, so no thread can be started."""

        def no_threads():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, resource.getrlimit(resource.RLIMIT_STACK)[1]))

        for program in ([ZNNID, "--model-repository", self.repository.name], [ZNNID.parent / "znni", "status"]):
            result = subprocess.run(program, capture_output=True, text=True, timeout=60, preexec_fn=no_threads)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("the system grants no more threads", result.stderr)

    def test_limits_that_cannot_work(self):
        result = self.run_once("--model-repository", self.repository.name, "--mem", "1M")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("1.00 MiB", result.stderr)
        result = self.run_once(
            "--model-repository", self.repository.name, "--mem", "512M", "--max-request-bytes", "128M"
        )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for number in ("512.00 MiB", "128.00 MiB", "at least 854.00 MiB", "--max-request-bytes of at most 76.00 MiB"):
            self.assertIn(number, result.stderr)
        result = self.run_once("--model-repository", "/none", "--mem", "1G")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/none", result.stderr)

    def test_check_config(self):
        result = self.run_once("--model-repository", self.repository.name, "--mem", "1G", "--check-config")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("mem=1073741824", result.stdout)
        self.assertIn("model net version 1", result.stdout)

    def test_check_config_knows_what_shall_be_loaded(self):
        words = ("--model-repository", self.repository.name, "--mem", "1G", "--model-control-mode", "explicit")
        for name, code in (("net", 0), ("*", 0), ("nett", 1)):
            result = self.run_once(*words, "--load-model", name, "--check-config")
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(result.stderr.count("it has no model 'nett'"), code)
            self.assertEqual(result.stderr.count(" error "), code, result.stderr)

    def test_check_config_reads_the_files_of_every_model(self):
        whole = pathlib.Path(self.repository.name, "net", "1", "model.onnx").read_bytes()
        files = {
            "truncated/1/model.onnx": whole[: len(whole) // 2],
            "empty/1/model.onnx": b"",
            "fileless/1/notes.txt": b"",
            "versionless/network.onnx": whole,
            "configured/1/model.onnx": whole,
            "configured/config.pbtxt": b"name: ",
            "renamed/1/model.onnx": whole,
            "renamed/config.pbtxt": b"name: 'other'",
            "good/1/model.onnx": whole,
            "lost+found/notes.txt": b"",
        }
        with tempfile.TemporaryDirectory() as repository:
            for name, content in files.items():
                pathlib.Path(repository, name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(repository, name).write_bytes(content)
            result = self.run_once("--model-repository", repository, "--mem", "1G", "--check-config")
        self.assertEqual(result.returncode, 1, result.stderr)
        errors = [line for line in result.stderr.splitlines() if " error " in line]
        named = ("configured", "empty", "fileless", "renamed", "truncated", "versionless")
        self.assertEqual(len(errors), len(named), result.stderr)
        for line, model in zip(errors, named):
            self.assertIn(f"model '{model}': {repository}/{model}", line)


if __name__ == "__main__":
    unittest.main()
