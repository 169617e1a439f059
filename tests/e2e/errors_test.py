"""Tests that a client's mistake gets its code and one clear line, and that the daemon goes on."""

import collections
import tempfile
import time
import unittest

import grpc
import nets
import numpy as np
from harness import Daemon
from tritonclient.grpc import service_pb2 as wire
from tritonclient.grpc import service_pb2_grpc as services

MODEL = "net"
LIMIT = 4 << 20


def request(shape=(1, 1, 12, 12, 12), datatype="FP32", bytes_each=4):
    """Returns a legal request, for the test to spoil."""
    message = wire.ModelInferRequest(model_name=MODEL, id="1")
    message.inputs.add(name="input", datatype=datatype, shape=shape)
    message.raw_input_contents.append(bytes(int(np.prod(shape)) * bytes_each))
    return message


class ErrorsTest(unittest.TestCase):
    """All tests use one daemon, which must survive all of them."""

    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.TemporaryDirectory()
        nets.save(nets.small_net(1), cls.repository.name, MODEL)
        cls.daemon = Daemon(cls.repository.name, "--max-request-bytes", str(LIMIT)).wait_ready()
        cls.channel = cls.daemon.channel()
        cls.stub = services.GRPCInferenceServiceStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.daemon.stop()
        cls.repository.cleanup()

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "\n".join(self.daemon.log))
        self.assertEqual(len(self.stub.ModelInfer(request()).raw_output_contents), 1)

    def refused(self, call, message, code, *parts):
        """Expects `call(message)` to fail with `code`, in one line that holds all parts."""
        with self.assertRaises(grpc.RpcError) as caught:
            call(message)
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        self.assertNotIn("\n", caught.exception.details())
        for part in parts:
            self.assertIn(part, caught.exception.details())

    def invalid(self, message, *parts):
        """Expects a request to be refused as invalid."""
        self.refused(self.stub.ModelInfer, message, grpc.StatusCode.INVALID_ARGUMENT, *parts)

    def test_unknown_models(self):
        for call, kind in (
            (self.stub.ModelReady, wire.ModelReadyRequest),
            (self.stub.ModelMetadata, wire.ModelMetadataRequest),
            (self.stub.ModelConfig, wire.ModelConfigRequest),
            (self.stub.ModelStatistics, wire.ModelStatisticsRequest),
        ):
            self.refused(call, kind(name="none"), grpc.StatusCode.NOT_FOUND, "unknown model", "none")
            self.refused(call, kind(name=MODEL, version="9"), grpc.StatusCode.NOT_FOUND, "9")
            self.refused(call, kind(name=MODEL, version="x"), grpc.StatusCode.INVALID_ARGUMENT, "'x'")
        message = request()
        message.model_name = "none"
        self.refused(self.stub.ModelInfer, message, grpc.StatusCode.NOT_FOUND, "Request for unknown model", "none")

    def test_shapes(self):
        self.invalid(request((1, 12, 12, 12)), "[1,12,12,12]", "5 dimensions")
        self.invalid(request((1, 2, 12, 12, 12)), "[1,2,12,12,12]", "[N,1,Z,Y,X]")
        self.invalid(request((1, 1, 12, 12, 9)), MODEL, "9", "10")
        spoilt = request()
        spoilt.inputs[0].shape[2] = -1
        self.invalid(spoilt, "[1,1,-1,12,12]")
        spoilt.inputs[0].shape[2] = 1 << 62
        self.invalid(spoilt, MODEL)

    def test_data(self):
        spoilt = request()
        spoilt.raw_input_contents[0] += b"x"
        self.invalid(spoilt, "6913 bytes", "6912")
        spoilt = request()
        spoilt.inputs[0].contents.fp32_contents.append(1)
        self.invalid(spoilt, "both raw_input_contents and contents")
        spoilt = request()
        spoilt.raw_input_contents.pop()
        self.invalid(spoilt, "no data")
        self.invalid(request(datatype="FP64", bytes_each=8), "'FP64'", "FP32, FP16, UINT8 or UINT16")

    def test_names(self):
        spoilt = request()
        spoilt.inputs[0].name = "image"
        self.invalid(spoilt, "'image'", "'input'")
        spoilt = request()
        spoilt.outputs.add(name="none")
        self.invalid(spoilt, "'none'")
        spoilt = request()
        spoilt.ClearField("inputs")
        self.invalid(spoilt, "0 inputs")

    def test_parameters(self):
        spoilt = request()
        spoilt.parameters["output_datatype"].string_param = "INT8"
        self.invalid(spoilt, "'INT8'")
        spoilt = request()
        spoilt.parameters["triton_new"].bool_param = True
        self.invalid(spoilt, "'triton_new'")
        fine = request()
        fine.parameters["triton_enable_empty_final_response"].bool_param = True
        fine.parameters["anything"].string_param = "else"
        self.assertEqual(self.stub.ModelInfer(fine).id, "1")

    def test_typed_contents_are_understood(self):
        typed = request()
        typed.raw_input_contents.pop()
        typed.inputs[0].contents.fp32_contents.extend([0.0] * 12**3)
        self.assertEqual(
            self.stub.ModelInfer(typed).raw_output_contents, self.stub.ModelInfer(request()).raw_output_contents
        )

    def test_sizes(self):
        self.refused(
            self.stub.ModelInfer, request((1, 1, 150, 150, 150)), grpc.StatusCode.RESOURCE_EXHAUSTED, "larger than max"
        )
        self.refused(
            self.stub.ModelInfer,
            request((1, 1, 102, 102, 102)),
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"the request has {4 * 102**3} bytes of voxels, at most {LIMIT} are taken",
        )
        self.refused(
            self.stub.ModelInfer,
            request((1, 1, 140, 140, 140), "UINT8", 1),
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"at most {LIMIT}",
            "znni.v1.Volumes",
        )

    def test_extensions_not_offered(self):
        level = wire.TraceSettingRequest.SettingValue(value=["TIMESTAMPS"])
        self.assertEqual(
            list(self.stub.TraceSetting(wire.TraceSettingRequest()).settings["trace_level"].value), ["OFF"]
        )
        self.refused(
            self.stub.TraceSetting,
            wire.TraceSettingRequest(settings={"trace_level": level}),
            grpc.StatusCode.UNIMPLEMENTED,
            "tracing",
        )
        self.refused(
            self.stub.SystemSharedMemoryStatus,
            wire.SystemSharedMemoryStatusRequest(),
            grpc.StatusCode.UNIMPLEMENTED,
            "--allow-client-shm",
        )

    def test_a_deadline_stops_the_work(self):
        work = request((1, 1, 128, 128, 128), "UINT8", 1)
        work.parameters["output_datatype"].string_param = "UINT8"  # an answer of float32 would be too large
        with self.assertRaises(grpc.RpcError) as caught:
            self.stub.ModelInfer(work, timeout=0.005)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)


class FullQueueTest(unittest.TestCase):
    """Tests requests that arrive while a large job computes."""

    def test_one_too_many_is_refused_at_once(self):
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1), repository, MODEL)
            with (
                Daemon(repository, "--max-queue", "1", "--max-request-bytes", "64M", mem="2G") as daemon,
                daemon.channel() as channel,
            ):
                stub = services.GRPCInferenceServiceStub(channel)
                calls = [stub.ModelInfer.future(request((1, 1, 140, 140, 140), "UINT8", 1)) for _ in range(5)]
                ended = collections.Counter(call.code() for call in calls)
                self.assertGreaterEqual(ended[grpc.StatusCode.OK], 2, "one computes and one waits")
                self.assertGreaterEqual(ended[grpc.StatusCode.UNAVAILABLE], 1)
                self.assertEqual(sum(ended.values()), ended[grpc.StatusCode.OK] + ended[grpc.StatusCode.UNAVAILABLE])
                refused = next(call for call in calls if call.code() == grpc.StatusCode.UNAVAILABLE)
                # A second one waits if a job gave way to another and came back: it has its place already.
                self.assertRegex(refused.details(), "is full: [12] jobs wait, at most 1 may")


class BadRepositoryTest(unittest.TestCase):
    """Tests models that cannot be served, beside one that can."""

    def test_each_has_its_reason(self):
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(1), repository, "good")
            nets.save(nets.small_net(1), repository, "truncated")
            path = f"{repository}/truncated/1/model.onnx"
            with open(path, "rb+") as file:
                file.truncate(200)
            with Daemon(repository, ready=False) as daemon, daemon.client() as client:
                while any(model.state == "LOADING" for model in client.get_model_repository_index().models):
                    time.sleep(0.05)
                index = {m.name: m for m in client.get_model_repository_index().models}
                self.assertEqual(index["good"].state, "READY")
                self.assertEqual(index["truncated"].state, "UNAVAILABLE")
                self.assertIn("model.onnx", index["truncated"].reason)
                self.assertFalse(client.is_model_ready("truncated"))
                self.assertFalse(client.is_server_ready())


if __name__ == "__main__":
    unittest.main()
