"""Tests the protocol over HTTP: answers are those of gRPC, bit for bit, under the same rules."""

import json
import pathlib
import signal
import socket
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import nets
import numpy as np
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from harness import Daemon

MODEL = "net"
TOKEN = "0123456789abcdef0123"
TYPES = {"FP32": np.float32, "FP16": np.float16, "UINT8": np.uint8, "UINT16": np.uint16}


def tensor_of(volume, datatype, module=triton, **options):
    """Returns an input with its data."""
    tensor = module.InferInput("input", list(volume.shape), datatype)
    tensor.set_data_from_numpy(volume, **options)
    return tensor


def post(daemon, body, headers=(), path=f"/v2/models/{MODEL}/infer"):
    """Returns (status, headers, body) of the answer to a plain request."""
    request = urllib.request.Request(f"http://127.0.0.1:{daemon.metrics_port}{path}", data=body, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def request_of(volume, datatype, **more):
    """Returns the JSON of a request whose voxels follow it."""
    tensor = {
        "name": "input",
        "datatype": datatype,
        "shape": volume.shape,
        "parameters": {"binary_data_size": volume.nbytes},
    }
    return json.dumps({"inputs": [tensor], **more}).encode()


def post_binary(daemon, volume, datatype, headers=(), **parameters):
    """Returns (JSON, voxels) of the answer; voxels are bytes both ways."""
    head = request_of(volume, datatype, parameters={"binary_data_output": True, **parameters})
    status, told, body = post(
        daemon, head + volume.tobytes(), {"Inference-Header-Content-Length": len(head), **dict(headers)}
    )
    if status != 200:
        raise AssertionError(f"{status}: {body}")
    split = int(told["Inference-Header-Content-Length"])
    return json.loads(body[:split]), body[split:]


class RestTest(unittest.TestCase):
    """All tests use one daemon."""

    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.TemporaryDirectory()
        nets.save(nets.small_net(3), cls.repository.name, MODEL)
        cls.daemon = Daemon(cls.repository.name).wait_ready()
        cls.client = cls.daemon.client()
        cls.http = triton_http.InferenceServerClient(f"127.0.0.1:{cls.daemon.metrics_port}")
        cls.output = cls.client.get_model_metadata(MODEL).outputs[0].name
        rng = np.random.default_rng(1)
        cls.volumes = {
            name: (rng.random((2, 1, 14, 15, 16)) * (1 if name[0] == "F" else 200)).astype(kind)
            for name, kind in TYPES.items()
        }

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.http.close()
        cls.daemon.stop()
        cls.repository.cleanup()

    def expected(self, datatype, **parameters):
        """Returns the answer of gRPC."""
        result = self.client.infer(MODEL, [tensor_of(self.volumes[datatype], datatype)], parameters=parameters)
        return result.as_numpy(self.output)

    def refused(self, status, part, *arguments, **options):
        """Expects a plain request to be refused in one line of JSON."""
        found, _, body = post(self.daemon, *arguments, **options)
        self.assertEqual(found, status, body)
        error = json.loads(body)["error"]
        self.assertIn(part, error)
        self.assertNotIn("\n", error)

    def test_questions(self):
        self.assertEqual(json.loads(self.daemon.page("/v2")[1])["name"], "znni")
        self.assertEqual(self.daemon.page("/v2/"), self.daemon.page("/v2"))
        self.assertEqual(self.daemon.page("/v2/health/live"), (200, '{"live":true}'))
        self.assertEqual(self.daemon.page("/v2/health/ready"), (200, '{"ready":true}'))
        self.assertEqual(self.daemon.page(f"/v2/models/{MODEL}/versions/1/ready")[0], 200)
        self.assertEqual(self.daemon.page("/v2/models/none/ready")[0], 404)
        told = json.loads(self.daemon.page(f"/v2/models/{MODEL}")[1])
        over_grpc = self.client.get_model_metadata(MODEL)
        self.assertEqual(told["inputs"][0]["shape"], list(over_grpc.inputs[0].shape))
        self.assertEqual(told["outputs"][0]["name"], self.output)

    def test_bytes_of_every_type(self):
        for datatype, volume in self.volumes.items():
            for wanted in ("FP32", "FP16", "UINT8"):
                told, voxels = post_binary(self.daemon, volume, datatype, output_datatype=wanted)
                with self.subTest(datatype=datatype, wanted=wanted):
                    expected = self.expected(datatype, output_datatype=wanted)
                    self.assertEqual(told["outputs"][0]["shape"], list(expected.shape))
                    self.assertEqual(told["outputs"][0]["datatype"], wanted)
                    self.assertEqual(voxels, expected.tobytes())

    def test_numbers(self):
        for datatype in ("FP32", "UINT8", "UINT16"):
            volume = self.volumes[datatype]
            for data in (volume.tolist(), volume.ravel().tolist()):
                tensor = {"name": "input", "datatype": datatype, "shape": volume.shape, "data": data}
                status, headers, body = post(self.daemon, json.dumps({"id": "a", "inputs": [tensor]}).encode())
                self.assertEqual((status, headers["Content-Type"]), (200, "application/json"), body)
                told = json.loads(body)
                self.assertEqual(told["id"], "a")
                found = np.array(told["outputs"][0]["data"], np.float32)
                self.assertEqual(found.tobytes(), self.expected(datatype).tobytes())

    def test_stock_client(self):
        self.assertTrue(self.http.is_server_live())
        self.assertTrue(self.http.is_server_ready())
        self.assertTrue(self.http.is_model_ready(MODEL))
        self.assertFalse(self.http.is_model_ready("none"))
        self.assertEqual(self.http.get_server_metadata()["name"], "znni")
        self.assertEqual(self.http.get_model_metadata(MODEL, "1")["name"], MODEL)
        for as_bytes in (True, False):
            for datatype in ("FP32", "UINT8"):
                tensor = tensor_of(self.volumes[datatype], datatype, triton_http, binary_data=as_bytes)
                output = triton_http.InferRequestedOutput(self.output, binary_data=as_bytes)
                for outputs in (None, [output]):
                    result = self.http.infer(MODEL, [tensor], outputs=outputs, request_id="r", timeout=600_000_000)
                    self.assertEqual(result.as_numpy(self.output).tobytes(), self.expected(datatype).tobytes())
                    self.assertEqual(result.get_response()["id"], "r")
        tensor = tensor_of(self.volumes["FP32"], "FP32", triton_http)
        plain = self.http.infer(MODEL, [tensor], response_compression_algorithm="gzip")  # compression is optional
        self.assertEqual(plain.as_numpy(self.output).tobytes(), self.expected("FP32").tobytes())
        half = self.http.infer(
            MODEL, [tensor_of(self.volumes["FP16"], "FP16", triton_http)], parameters={"output_datatype": "FP16"}
        )
        self.assertEqual(half.as_numpy(self.output).tobytes(), self.expected("FP16", output_datatype="FP16").tobytes())
        with self.assertRaises(triton_http.InferenceServerException) as caught:
            self.http.infer("none", [tensor_of(self.volumes["FP32"], "FP32", triton_http)])
        self.assertIn("unknown model", caught.exception.message())
        self.assertEqual(caught.exception.status(), "404")

    def test_clients_that_ask_before_they_send(self):
        volume = np.ones((1, 1, 130, 120, 120), np.uint8)  # curl does so from a megabyte on
        head = request_of(volume, "UINT8", parameters={"binary_data_output": True, "output_datatype": "UINT8"})
        with socket.create_connection(("127.0.0.1", self.daemon.metrics_port)) as client:
            client.sendall(
                f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                f"Inference-Header-Content-Length: {len(head)}\r\nConnection: close\r\n"
                f"Content-Length: {len(head) + volume.nbytes}\r\n\r\n".encode()
            )
            answer = client.makefile("rb")
            self.assertTrue(answer.readline().startswith(b"HTTP/1.1 100 "))
            client.sendall(head + volume.tobytes())
            told = answer.read()
        self.assertIn(b"HTTP/1.1 200 ", told[:40])
        self.assertGreater(len(told), 110 * 100 * 100)

    def test_errors(self):
        volume = self.volumes["FP32"]
        head = request_of(volume, "FP32")
        self.refused(400, "of the JSON", b"nonsense")
        self.refused(400, "expected an object", b"[]")
        self.refused(400, "0 inputs found, expected one", b"{}")
        self.refused(
            400, "binary_data_size", head + volume.tobytes()[1:], {"Inference-Header-Content-Length": len(head)}
        )
        self.refused(400, "expected at most the length of the body", head, {"Inference-Header-Content-Length": 10**6})
        self.refused(404, "unknown model", b"{}", path="/v2/models/none/infer")
        self.refused(400, "expected a number", b"{}", path=f"/v2/models/{MODEL}/versions/x/infer")
        small = np.ones((1, 1, 5, 5, 5), np.float32)
        head = request_of(small, "FP32")
        self.refused(400, "field of view", head + small.tobytes(), {"Inference-Header-Content-Length": len(head)})
        self.assertEqual(post_binary(self.daemon, volume, "FP32")[1], self.expected("FP32").tobytes())

    def test_records(self):
        ok = {"method": "HttpInfer", "code": "OK", "model": MODEL}
        before = self.daemon.metric("znni_requests_total", **ok)
        post_binary(self.daemon, self.volumes["UINT8"], "UINT8")
        while self.daemon.metric("znni_requests_total", **ok) == before:
            time.sleep(0.01)
        self.assertGreater(self.daemon.metric("znni_request_compute_seconds_count", method="HttpInfer"), 0)
        self.daemon.logged("method=HttpInfer")
        while self.daemon.metric("znni_memory_used_bytes", pool="transport") > 0:
            time.sleep(0.01)


class RestRulesTest(unittest.TestCase):
    """Each test has its own daemon."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.repository = f"{cls.folder.name}/models"
        nets.save(nets.small_net(1), cls.repository, MODEL)
        cls.volume = np.ones((1, 1, 14, 14, 14), np.float32)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_others_reach_probes_alone(self):
        with Daemon(self.repository, "--metrics-address", "0.0.0.0") as daemon:
            status, _, body = post(daemon, b"{}")
            self.assertEqual(status, 403)
            self.assertIn("--metrics-address 0.0.0.0 is not a loopback address", json.loads(body)["error"])
            self.assertEqual(daemon.page(f"/v2/models/{MODEL}")[0], 403)
            self.assertEqual(daemon.page(f"/v2/models/{MODEL}/ready")[0], 200)
            self.assertEqual(daemon.page("/metrics")[0], 200)
            daemon.logged("models are not served over HTTP")
        with Daemon(self.repository, "--metrics-address", "0.0.0.0", "--http-infer", "on") as daemon:
            self.assertEqual(len(post_binary(daemon, self.volume, "FP32")[1]), 2 * 4 * 5**3)
        with Daemon(self.repository, "--http-infer", "off") as daemon:
            self.assertEqual(post(daemon, b"{}")[0], 403)

    def test_tokens(self):
        token = pathlib.Path(self.folder.name) / "token"
        token.write_text(f"{TOKEN}\n")
        with Daemon(self.repository, "--infer-token-file", token) as daemon:
            status, headers, body = post(daemon, b"{}")
            self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
            self.assertIn("authorization: Bearer", json.loads(body)["error"])
            self.assertEqual(daemon.page(f"/v2/models/{MODEL}")[0], 401)
            self.assertEqual(daemon.page("/v2/health/ready")[0], 200)
            headers = {"Authorization": f"Bearer {TOKEN}"}
            self.assertEqual(len(post_binary(daemon, self.volume, "FP32", headers)[1]), 2 * 4 * 5**3)
            self.assertEqual(daemon.metric("znni_refusals_total", reason="unauthenticated"), 1)

    # A byte of JSON, a digit or a comma, becomes two bytes of a float32, and empty lists far more.
    def test_memory_is_that_of_the_daemon(self):
        mem, largest = 512 << 20, 8 << 20
        bodies = [
            b'{"inputs":[{"name":"input","datatype":"FP32","shape":[%d],"data":[0' % count
            + b",0" * (count - 1)
            + b"]}]}"
            for count in (largest // 2, largest // 4)
        ]
        bodies += [
            b'{"inputs":[' + b"{}," * (largest // 3) + b"{}]}",
            b'{"id":"' + b"x" * largest + b'"}',
            b'{"parameters":{"a":' + b"1" * largest + b"}}",
            b"[" * largest,
        ]
        expected = [413, 400, 400, 400, 400, 400] * 2
        statuses = [None] * len(expected)

        def send(daemon, number, body):
            statuses[number] = post(daemon, body)[0]

        # All of them are one client, who has half of what 16 may have unless its connections are as many as all.
        with Daemon(
            self.repository, "--max-connections", "64", "--max-connections-per-client", "64", mem="512M"
        ) as daemon:
            threads = [
                threading.Thread(target=send, args=(daemon, number, body)) for number, body in enumerate(bodies * 2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(statuses, expected)
            self.assertLess(daemon.memory("VmHWM"), mem)
            self.assertEqual(len(post_binary(daemon, self.volume, "FP32")[1]), 2 * 4 * 5**3)

    def test_it_ends_beside_a_client_that_sends_no_more(self):
        with Daemon(self.repository, "--exit-timeout-secs", "1") as daemon, socket.socket() as client:
            client.connect(("127.0.0.1", daemon.metrics_port))
            client.sendall(
                f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{{".encode()
            )
            self.assertEqual(post(daemon, b"x")[0], 400)
            self.assertEqual(daemon.stop(signal.SIGTERM), 0)
            lines = [line for line in daemon.log if "method=HttpInfer" in line]
            self.assertIn(len(lines), (1, 2), "the silent one has a line if it was begun before the end")


if __name__ == "__main__":
    unittest.main()
