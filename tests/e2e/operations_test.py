"""Tests what operators of the daemon see and set: metrics, probes, records, TLS, tokens, fair shares."""

import json
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
import nets
import numpy as np
import tritonclient.grpc as triton
from harness import ZNNID, Daemon, volumes_stubs

MODEL = "net"
messages, volume_services = volumes_stubs()


def infer(client, extent=(14, 14, 14), **options):
    """Sends one request through a stock client."""
    volume = np.ones((1, 1, *extent), np.float32)
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    return client.infer(MODEL, [tensor], **options)


class OperationsTest(unittest.TestCase):
    """Each test has its own daemon."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.repository = f"{cls.folder.name}/models"
        nets.save(nets.small_net(1), cls.repository, MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_metrics_and_probes(self):
        with Daemon(self.repository) as daemon, daemon.client() as client:
            self.assertEqual(daemon.page("/livez"), (200, "ok\n"))
            self.assertEqual(daemon.page("/readyz"), (200, "ok\n"))
            infer(client)
            with self.assertRaises(triton.InferenceServerException):
                infer(client, (5, 5, 5))
            self.assertEqual(daemon.metric("znni_requests_total", method="ModelInfer", code="OK"), 1)
            self.assertEqual(daemon.metric("znni_requests_total", code="INVALID_ARGUMENT"), 1)
            self.assertEqual(daemon.metric("znni_refusals_total", reason="malformed"), 1)
            self.assertEqual(daemon.metric("znni_refusals_total"), 1)
            self.assertEqual(daemon.metric("znni_job_bytes"), 0)
            self.assertEqual(daemon.metric("znni_output_voxels_total", model=MODEL), 5**3)
            self.assertEqual(daemon.metric("znni_request_compute_seconds_count", model=MODEL), 1)
            self.assertGreater(daemon.metric("znni_memory_budget_bytes", pool="models"), 0)
            self.assertGreater(daemon.metric("znni_model_memory_bytes", model=MODEL), 0)
            self.assertEqual(daemon.metric("znni_memory_used_bytes", pool="transport"), 0)
            names = set()
            for line in daemon.page("/metrics")[1].splitlines():
                if line.startswith("# TYPE"):
                    self.assertNotIn(line.split()[2], names)
                    names.add(line.split()[2])

    def test_not_ready_says_why(self):
        with tempfile.TemporaryDirectory() as repository:
            pathlib.Path(f"{repository}/broken/1").mkdir(parents=True)
            pathlib.Path(f"{repository}/broken/1/model.onnx").write_bytes(b"no model")
            with Daemon(repository, ready=False) as daemon:
                while "is unavailable" not in daemon.page("/readyz")[1]:
                    time.sleep(0.05)
                status, text = daemon.page("/readyz")
                self.assertEqual(status, 503)
                self.assertIn("broken", text)
                self.assertEqual(daemon.page("/livez")[0], 200)
                told = self.status(daemon, "--model", "broken").stderr
                self.assertIn("broken/1/model.onnx", told)
                self.assertNotIn("no answer from", told)

    def test_status_tells_how_far_planning_is(self):
        rng = np.random.default_rng(5)
        deep = nets.Net(1)
        for _ in range(200):
            deep.conv(rng, 4, (1, 2, 2))
        with tempfile.TemporaryDirectory() as folder:
            nets.save(deep, f"{folder}/models", "deep")
            with Daemon(f"{folder}/models", plans=f"{folder}/plans", ready=False) as daemon:
                planning = r"planning within \S+ \S+ for \d+ s: \d+ of \d+ (smaller )?patches looked at, .* so far"
                told = f"model 'deep' is still loading: {planning}"
                asks = [
                    (lambda: self.status(daemon).stdout, "(?m)^deep: LOADING " + planning),
                    (lambda: self.status(daemon, "--model", "deep").stderr, told),
                    (lambda: daemon.page("/readyz")[1], told),
                ]
                while asks:
                    asks = [(ask, wanted) for ask, wanted in asks if not re.search(wanted, ask())]
                    status, page = daemon.page("/readyz")
                    self.assertTrue(not asks or status != 200, "planned before all were told")
                    self.assertNotIn("is unavailable", page)
                self.assertEqual(daemon.stop(), 0, daemon.log)

    def test_a_metrics_port_in_use_is_refused(self):
        with Daemon(self.repository) as daemon:
            second = Daemon(self.repository, metrics_port=daemon.metrics_port)
            self.assertEqual(second.wait(), 1)
            errors = [line for line in second.log if " error " in line]
            self.assertEqual(len(errors), 1, second.log)
            self.assertIn("--metrics-port", errors[0])

    def test_a_record_of_every_request(self):
        with Daemon(self.repository, "--log-format", "json") as daemon, daemon.client() as client:
            infer(client, request_id="job 7")
            calls = [json.loads(line) for line in daemon.logged('"call"')]
        self.assertEqual((calls[0]["id"], calls[0]["version"], calls[0]["voxels"]), ("job 7", "1", 125))
        parts = [calls[0][f"{part}_seconds"] for part in ("receive", "queue", "compute", "send")]
        self.assertLessEqual(sum(parts), 1.1 * calls[0]["seconds"] + 0.01)
        layers = [float(seconds) for seconds in calls[0]["layers"].split(" ")[1::2]]
        self.assertGreater(sum(layers), 0)
        self.assertLessEqual(sum(layers), 1.1 * calls[0]["compute_seconds"] + 0.01)

    def make_certificates(self):
        """Makes an authority, and certificates that it signed for a server and a client."""
        folder = pathlib.Path(self.folder.name)

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
        )
        (folder / "names.cnf").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in ("server", "client"):
            openssl(
                "req",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                f"{name}.key",
                "-out",
                f"{name}.csr",
                "-subj",
                f"/CN={name}",
            )
            openssl(
                "x509",
                "-req",
                "-in",
                f"{name}.csr",
                "-CA",
                "ca.pem",
                "-CAkey",
                "ca.key",
                "-CAcreateserial",
                "-out",
                f"{name}.pem",
                "-days",
                "2",
                "-extfile",
                "names.cnf",
            )
        return folder

    def tls_client(self, daemon, folder, own=False):
        """Returns a stock client that knows the authority; if `own`, with its own certificate."""
        mine = (
            {"private_key": str(folder / "client.key"), "certificate_chain": str(folder / "client.pem")} if own else {}
        )
        return triton.InferenceServerClient(
            daemon.url.replace("127.0.0.1", "localhost"), ssl=True, root_certificates=str(folder / "ca.pem"), **mine
        )

    def status(self, daemon, *words):
        """Runs `znni status`."""
        return subprocess.run(
            [ZNNID.with_name("znni"), "status", "--server", daemon.url.replace("127.0.0.1", "localhost"), *words],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_tls_and_mutual_tls(self):
        folder = self.make_certificates()
        server = ("--grpc-server-cert", folder / "server.pem", "--grpc-server-key", folder / "server.key")
        with Daemon(self.repository, "--grpc-use-ssl", *server, ready=False) as daemon:
            with self.tls_client(daemon, folder) as client:
                while not client.is_server_ready():
                    time.sleep(0.05)
                infer(client)
            with daemon.client() as plain, self.assertRaises(triton.InferenceServerException):
                plain.is_server_live()
        with Daemon(
            self.repository, "--grpc-use-ssl-mutual", *server, "--grpc-root-cert", folder / "ca.pem", ready=False
        ) as daemon:
            with self.tls_client(daemon, folder, own=True) as client:
                self.assertTrue(client.is_server_live())
            own = self.status(
                daemon,
                "--tls-root-cert",
                folder / "ca.pem",
                "--tls-cert",
                folder / "client.pem",
                "--tls-key",
                folder / "client.key",
            )
            self.assertIn(MODEL, own.stdout)
            unknown = self.status(daemon, "--tls-root-cert", folder / "ca.pem")
            self.assertNotEqual(unknown.returncode, 0)
            self.assertRegex(unknown.stderr, r"with TLS\? does it ask for a client certificate .*\)\n$")
            with self.tls_client(daemon, folder) as stranger, self.assertRaises(triton.InferenceServerException):
                stranger.is_server_live()

    def test_models_are_loaded_and_unloaded_by_hand(self):
        with tempfile.TemporaryDirectory() as repository:
            for name in ("first", "second"):
                nets.save(nets.small_net(1), repository, name)
            with (
                Daemon(repository, "--model-control-mode", "explicit", "--load-model", "first") as daemon,
                daemon.client() as client,
            ):
                states = {model.name: model.state for model in client.get_model_repository_index().models}
                self.assertEqual(states, {"first": "READY", "second": "UNAVAILABLE"})
                client.load_model("second")
                self.assertTrue(client.is_model_ready("second"))
                both = daemon.metric("znni_memory_used_bytes", pool="models")
                client.unload_model("first")
                self.assertFalse(client.is_model_ready("first"))
                self.assertTrue(client.is_server_ready())
                states = {model.name: model.state for model in client.get_model_repository_index().models}
                self.assertEqual(states, {"first": "UNAVAILABLE", "second": "READY"})
                with self.assertRaises(triton.InferenceServerException) as caught:
                    client.get_model_metadata("first")
                self.assertIn("NOT_FOUND", caught.exception.status())
                self.assertLess(daemon.metric("znni_memory_used_bytes", pool="models"), both)
                client.load_model("first")
                self.assertTrue(client.is_model_ready("first"))
                with self.assertRaises(triton.InferenceServerException) as caught:
                    client.load_model("../first")
                self.assertIn("NOT_FOUND", caught.exception.status())

    def test_tokens(self):
        token = pathlib.Path(self.folder.name) / "token"
        token.write_text("0123456789abcdef0123\n")
        with Daemon(self.repository, "--infer-token-file", token) as daemon, daemon.client() as client:
            self.assertTrue(client.is_server_ready())
            with self.assertRaises(triton.InferenceServerException) as caught:
                infer(client)
            self.assertIn("UNAUTHENTICATED", caught.exception.status())
            self.assertIn("authorization: Bearer", self.status(daemon).stderr)
            self.assertIn(MODEL, self.status(daemon, "--token-file", token).stdout)
            infer(client, headers={"authorization": "Bearer 0123456789abcdef0123"})
            with daemon.channel() as channel, self.assertRaises(grpc.RpcError) as refused:
                list(volume_services.VolumesStub(channel).Infer(iter([messages.VolumeRequest()])))
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
            with daemon.channel() as channel, self.assertRaises(grpc.RpcError) as refused:
                volume_services.VolumesStub(channel).Outlook(messages.VolumeHeader(model_name=MODEL))
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
            self.assertNotIn("0123456789abcdef0123", "\n".join(daemon.log) + daemon.page("/metrics")[1])

    def test_a_small_request_does_not_wait_for_a_large_one(self):
        with Daemon(self.repository, "--max-request-bytes", "128M") as daemon, daemon.client() as client:
            ended = []
            large = threading.Thread(target=lambda: ended.append(infer(daemon.client(), (240, 240, 240))))
            large.start()
            while daemon.metric("znni_jobs", state="running") < 1:
                time.sleep(0.01)
            infer(client, (12, 12, 12))
            self.assertEqual(ended, [], "the large one was in the way, or is too small for this test")
            large.join()
            self.assertEqual(len(ended), 1)


class NonfiniteTest(unittest.TestCase):
    """Tests voxels that are NaN or infinite: refused, or replaced as the model's configuration says."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.net = nets.small_net(1)
        repository = f"{cls.folder.name}/models"
        nets.save(cls.net, repository, "strict")
        nets.save(
            cls.net,
            repository,
            "mended",
            config='parameters { key: "input_nonfinite" value { string_value: "0.5" } }\n',
        )
        cls.daemon = Daemon(repository).wait_ready()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop()
        cls.folder.cleanup()

    def volume(self, kind=np.float32, values=(np.nan, -np.inf)):
        """Returns a random volume [z, y, x] with these values at two places."""
        volume = np.random.default_rng(1).standard_normal((16, 15, 14)).astype(kind)
        volume[5, 3, 6], volume[9, 1, 2] = values
        return volume

    def infer(self, model, volume):
        """Returns the answer to one ModelInfer."""
        tensor = triton.InferInput("input", [1, 1, *volume.shape], "FP32" if volume.dtype == np.float32 else "FP16")
        tensor.set_data_from_numpy(volume[None, None])
        with self.daemon.client() as client:
            return client.infer(model, [tensor])

    def znni_infer(self, model, volume, *more):
        """Runs the client's program on a file. Returns the finished process and the output's path."""
        np.save(f"{self.folder.name}/in.npy", volume)
        output = pathlib.Path(self.folder.name) / f"{model}.npy"
        done = subprocess.run(
            [
                ZNNID.with_name("znni"),
                "infer",
                "--server",
                self.daemon.url,
                "-m",
                model,
                "-i",
                f"{self.folder.name}/in.npy",
                "-o",
                output,
                "--no-progress",
                *more,
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done, output

    def expect_mended(self, volume, output):
        """Expects the dense output of the volume with 0.5 in place of such voxels."""
        mended = np.where(np.isfinite(volume), volume, 0.5).astype(np.float32)
        reference = nets.run_dilated(self.net, mended[None, None])
        np.testing.assert_allclose(output.reshape(reference.shape), reference, atol=1e-5 * np.abs(reference).max())

    def replaced(self, model):
        """Returns the number of replaced voxels, by the metrics."""
        return self.daemon.metric("znni_nonfinite_voxels_total", model=model)

    def test_model_infer_refuses_them_with_their_position(self):
        for kind, value in ((np.float32, np.nan), (np.float32, np.inf), (np.float16, np.nan)):
            with self.assertRaises(triton.InferenceServerException, msg=(kind, value)) as caught:
                self.infer("strict", self.volume(kind, (value, 1)))
            self.assertEqual(caught.exception.status(), "StatusCode.INVALID_ARGUMENT")
            self.assertIn(f"channel 0, z 5, y 3, x 6 is {value}", caught.exception.message())
            self.assertIn("input_nonfinite", caught.exception.message())
        self.assertEqual(self.replaced("strict"), 0)
        self.infer("strict", self.volume(values=(1, 1)))

    def test_znni_infer_is_refused_and_names_the_position_in_the_file(self):
        done, output = self.znni_infer("strict", self.volume(), "--padding", "reflect")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("is nan, which would spoil the output around it", done.stderr)
        self.assertIn("in.npy that is not finite is at channel 0, z 5, y 3, x 6 (nan)", done.stderr)
        self.assertFalse(output.exists())
        self.assertEqual(self.replaced("strict"), 0)

    def test_model_infer_replaces_and_counts_them(self):
        before = self.replaced("mended")
        for kind in (np.float32, np.float16):
            answer = self.infer("mended", self.volume(kind)).get_response()
            self.assertEqual(answer.parameters["nonfinite_voxels"].int64_param, 2)
            self.expect_mended(self.volume(kind), np.frombuffer(answer.raw_output_contents[0], np.float32))
        self.assertEqual(self.replaced("mended"), before + 4)

    def test_znni_infer_tells_how_many_were_replaced(self):
        before = self.replaced("mended")
        done, output = self.znni_infer("mended", self.volume(), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["nonfinite_voxels"], 2)
        self.expect_mended(self.volume(), np.load(output))
        self.assertEqual(self.replaced("mended"), before + 2)


if __name__ == "__main__":
    unittest.main()
