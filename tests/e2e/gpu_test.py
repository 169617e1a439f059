"""Tests plans for CPU and GPU, served with the simulated GPU as a plug-in, and without it."""

import os
import pathlib
import queue
import re
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock

import nets
import numpy as np
import tritonclient.grpc as triton
from dense_test import BOUND, volume_for
from harness import LONGEST_START, Daemon

PLANNER = pathlib.Path(os.environ["ZNNI_BIN_DIR"]) / "planner"
PLUGIN = os.environ["ZNNI_SIM_PLUGIN"]
WITHOUT_GPU = os.environ["ZNNI_EXAMPLE_PLUGIN"]
MODEL = "net"
EXTENT = (24, 25, 26)


class GpuTest(unittest.TestCase):
    """All tests use one model and its plan, which places its last layers on the GPU."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.repository = f"{cls.folder.name}/models"
        cls.net = nets.small_net(1)
        nets.save(cls.net, cls.repository, MODEL)
        cls.plan = cls.make_plan(cls.repository)
        cls.volume = volume_for(cls.net, EXTENT, 7)
        cls.reference = nets.run_dilated(cls.net, cls.volume)

    @classmethod
    def make_plan(cls, repository, *flags):
        """Makes a plan for both, beside the model, and returns its file."""
        plan = pathlib.Path(repository) / MODEL / "1" / "plan.pbtxt"
        subprocess.run(
            [
                PLANNER,
                "--model",
                plan.with_name("model.onnx"),
                "--mem",
                "300M",
                "--strategy",
                "cpu-gpu",
                "--plugin",
                PLUGIN,
                "--gpu-mem",
                "512K",
                "--output",
                plan,
                *flags,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            env=dict(os.environ, XDG_STATE_HOME=cls.folder.name),
        )
        # The simulated GPU is slow, so the tests make its rung the fastest of the plan.
        before, split, rest = plan.read_text().partition("rung {")
        plan.write_text(before + split + re.sub(r"\n  seconds: \S+", "\n  seconds: 1e-09", rest, count=1))
        return plan

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def infer(self, client):
        """Sends one request. Returns the output and the response's parameters."""
        tensor = triton.InferInput("input", list(self.volume.shape), "FP32")
        tensor.set_data_from_numpy(self.volume)
        result = client.infer(MODEL, [tensor])
        response = result.get_response()
        return result.as_numpy(response.outputs[0].name), response.parameters

    def daemon(self, *arguments, **options):
        """Returns a daemon with the GPU, unless the arguments say otherwise."""
        return Daemon(self.repository, *(arguments or ("--plugin", PLUGIN, "--gpu-mem", "1M")), **options)

    def failing_daemon(self, failure, value):
        """Returns a daemon whose GPU fails as the environment tells tests/support/sim_plugin.cpp."""
        with unittest.mock.patch.dict(os.environ, {failure: str(value)}):
            return self.daemon()

    def ask(self, client):
        """Sends one request and checks the output. Returns the response's parameters."""
        output, parameters = self.infer(client)
        self.assertLessEqual(np.abs(output - self.reference).max(), BOUND * np.abs(self.reference).max())
        return parameters

    def test_a_plan_for_both_is_served_on_both(self):
        self.assertIn("place: gpu", self.plan.read_text())
        with self.daemon() as daemon, daemon.client() as client:
            self.assertNotIn("fallback", self.ask(client))
            daemon.logged("GPU 'simulated GPU' is open with 1.00 MiB")
            idle = [daemon.metric("znni_pipeline_idle_seconds_total", place=place) for place in ("cpu", "gpu")]
            self.assertGreater(sum(idle), 0)
            self.assertEqual(daemon.metric("znni_model_gpu_lost"), 0)
            self.assertEqual(daemon.stop(), 0)

    def test_a_coarser_plan_is_served_and_said(self):
        repository = f"{self.folder.name}/coarse"
        nets.save(self.net, repository, MODEL)
        plan = self.make_plan(repository, "--precision", "bf16")
        self.assertIn("bf16:channels_last", plan.read_text())
        with Daemon(repository, "--plugin", PLUGIN, "--gpu-mem", "1M") as daemon, daemon.client() as client:
            daemon.logged("rungs, up to bf16")
            output, parameters = self.infer(client)
            self.assertNotIn("fallback", parameters)
            error = np.abs(output - self.reference).max() / np.abs(self.reference).max()
            self.assertGreater(error, BOUND)
            self.assertLess(error, 0.1)

    def test_without_a_gpu_it_is_refused_in_one_line(self):
        with self.daemon("--threads", str(os.cpu_count()), ready=False) as daemon:
            lines = daemon.logged("is unavailable")
            self.assertEqual(len(lines), 1, daemon.log)
            self.assertIn("plan.pbtxt: it places segments on a GPU, and none is in use", lines[0])
            self.assertIn(MODEL, daemon.page("/readyz")[1])

    def test_a_plugin_that_finds_no_gpu_is_told(self):
        with self.daemon("--plugin", WITHOUT_GPU, "--threads", str(os.cpu_count()), ready=False) as daemon:
            daemon.logged("is unavailable")
            said = [line for line in daemon.log if "no GPU, or no driver for one, was found" in line]
            self.assertEqual(len(said), 1, daemon.log)

    def test_wrong_flags_end_it_in_one_line(self):
        cases = [
            (("--plugin", "nowhere.so"), "nowhere.so: no such module"),
            (("--plugin", PLUGIN, "--gpu-mem", "1G"), "has 256.00 MiB"),
            (("--gpu-mem", "much"), "much"),
        ]
        for arguments, part in cases:
            with self.subTest(arguments):
                daemon = Daemon(self.repository, *arguments)
                self.assertNotEqual(daemon.wait(), 0)
                self.assertIn(part, daemon.log[-1])

    def test_a_gpu_that_fails_in_a_request_is_replaced_and_said(self):
        with self.failing_daemon("ZNNI_SIM_FAIL_WORK", 60) as daemon, daemon.client() as client:
            said = ""
            for _ in range(20):
                parameters = self.ask(client)
                said = parameters["fallback"].string_param if "fallback" in parameters else ""
                if said:
                    break
            self.assertIn("work failed, as the test asked", said)
            self.assertEqual(daemon.metric("znni_model_gpu_lost", model=MODEL), 1)
            self.assertEqual(daemon.metric("znni_fallback_jobs_total", model=MODEL), 1)
            daemon.logged("the CPU takes over")
            self.assertEqual(daemon.page("/readyz"), (200, "ok\n"))

    def lost_in_a_job(self, pieces):
        """Returns whether a GPU that is lost at this piece of work was lost in a job, after which the daemon ends."""
        with self.failing_daemon("ZNNI_SIM_LOSE_WORK", pieces) as daemon, daemon.client() as client:
            said = ""
            while not said:
                parameters = self.ask(client)
                said = parameters["fallback"].string_param if "fallback" in parameters else ""
            self.assertIn("work failed, as the test asked", said)
            if "this one goes on without it" in daemon.logged("the GPU is lost to this process")[0]:
                return False
            self.assertEqual(daemon.wait(), 75, daemon.log)
            for part in (
                "the GPU is lost to this process, and no retry mends that",
                "this process ends, for another one to use the GPU",
            ):
                self.assertEqual(sum(part in line for line in daemon.log), 1, daemon.log)
            return True

    def test_a_gpu_that_is_lost_to_the_process_has_another_one_started(self):
        # The number of pieces of work for loading depends on the plan.
        self.assertTrue(any(self.lost_in_a_job(4**power) for power in range(5, 10)))

    def test_a_gpu_that_is_lost_while_a_model_loads_ends_nothing(self):
        with self.failing_daemon("ZNNI_SIM_LOSE_WORK", 1) as daemon, daemon.client() as client:
            daemon.logged("this one goes on without it")
            for _ in range(2):
                self.assertIn("work failed", self.ask(client)["fallback"].string_param)
            self.assertEqual(daemon.metric("znni_gpu_lost"), 1)
            self.assertEqual(daemon.page("/livez"), (200, "ok\n"))
            self.assertEqual(daemon.stop(), 0, daemon.log)

    def test_what_the_back_end_had_to_assume_is_said_once(self):
        note = "engines are those for a description"
        with self.failing_daemon("ZNNI_SIM_NOTE", note) as daemon:
            self.assertEqual(len(daemon.logged(note)), 1, daemon.log)
        done = subprocess.run(
            [
                PLANNER,
                "--model",
                self.plan.with_name("model.onnx"),
                "--mem",
                "300M",
                "--strategy",
                "cpu-gpu",
                "--plugin",
                PLUGIN,
                "--gpu-mem",
                "512K",
            ],
            check=True,
            text=True,
            capture_output=True,
            env=dict(os.environ, XDG_STATE_HOME=self.folder.name, ZNNI_SIM_NOTE=note),
        )
        self.assertEqual(done.stderr.count(f"planner: {note}\n"), 1, done.stderr)

    def test_a_gpu_that_does_not_open_is_replaced_and_said(self):
        with self.failing_daemon("ZNNI_SIM_FAIL_OPEN", 1) as daemon, daemon.client() as client:
            self.assertIn("it does not open", self.ask(client)["fallback"].string_param)

    def test_a_caller_that_gives_up_leaves_the_gpu_to_the_next(self):
        with self.daemon() as daemon, daemon.client() as client:
            large = volume_for(self.net, (70, 150, 150), 8)
            tensor = triton.InferInput("input", list(large.shape), "FP32")
            tensor.set_data_from_numpy(large)
            with self.assertRaises(triton.InferenceServerException):
                client.infer(MODEL, [tensor], client_timeout=0.5)
            self.ask(client)
            self.assertEqual(daemon.metric("znni_model_gpu_lost"), 0)
            # The next may be answered before the call that was given up has returned.
            while daemon.metric("znni_memory_used_bytes", pool="transport") > 0:
                time.sleep(0.01)

    def test_sigterm_while_it_computes_ends_the_job_and_the_daemon(self):
        arguments = ("--plugin", PLUGIN, "--gpu-mem", "1M", "--exit-timeout-secs", "1")
        with self.daemon(*arguments) as daemon, daemon.client() as client:
            large = volume_for(self.net, (80, 180, 180), 8)
            tensor = triton.InferInput("input", list(large.shape), "FP32")
            tensor.set_data_from_numpy(large)
            answers = queue.Queue()
            client.async_infer(MODEL, [tensor], callback=lambda result, error: answers.put(error))
            deadline = time.monotonic() + LONGEST_START
            while daemon.metric("znni_jobs", state="running") == 0:
                self.assertTrue(answers.empty() and time.monotonic() < deadline, daemon.log)
                time.sleep(0.01)
            time.sleep(0.2)
            self.assertEqual(daemon.stop(), 0, daemon.log)
            self.assertIn("UNAVAILABLE", str(answers.get(timeout=LONGEST_START)))

    def test_two_callers_share_it(self):
        with self.daemon() as daemon:
            failed = []

            def call():
                try:
                    with daemon.client() as client:
                        self.ask(client)
                except Exception as error:  # pylint: disable=broad-except
                    failed.append(error)

            threads = [threading.Thread(target=call) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
