"""Tests stock clients of the Open Inference Protocol: every way to ask returns what the plain call returns."""

import asyncio
import queue
import tempfile
import unittest

import nets
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
import tritonclient.utils.shared_memory as shared
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from harness import Daemon
from tritonclient.grpc import service_pb2 as wire
from tritonclient.grpc import service_pb2_grpc as services

MODEL = "net"
SERVICE = "inference.GRPCInferenceService"


def tensor_of(volume):
    """Returns an input with its data."""
    tensor = triton.InferInput("input", list(volume.shape), "FP32")
    tensor.set_data_from_numpy(volume)
    return tensor


class ProtocolTest(unittest.TestCase):
    """All tests use one daemon."""

    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.TemporaryDirectory()
        cls.net = nets.small_net(3)
        nets.save(cls.net, cls.repository.name, MODEL)
        cls.daemon = Daemon(cls.repository.name, "--allow-client-shm").wait_ready()
        cls.client = cls.daemon.client()
        cls.output = cls.client.get_model_metadata(MODEL).outputs[0].name
        cls.volume = np.random.default_rng(1).random((1, 1, 14, 15, 16), np.float32)
        cls.expected = cls.client.infer(MODEL, [tensor_of(cls.volume)]).as_numpy(cls.output)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.daemon.stop()
        cls.repository.cleanup()

    def test_output_is_that_of_the_net(self):
        self.assertEqual(self.expected.shape[2:], (5, 6, 7))
        self.assertGreater(np.abs(self.expected).max(), 0)

    def test_threads(self):
        replies = queue.Queue()
        for _ in range(4):
            self.client.async_infer(
                MODEL, [tensor_of(self.volume)], callback=lambda result, error: replies.put((result, error))
            )
        for _ in range(4):
            result, error = replies.get(timeout=120)
            self.assertIsNone(error)
            np.testing.assert_array_equal(result.as_numpy(self.output), self.expected)

    def test_asyncio(self):
        async def ask():
            async with triton_aio.InferenceServerClient(self.daemon.url) as client:
                self.assertTrue(await client.is_server_ready())
                both = await asyncio.gather(*(client.infer(MODEL, [tensor_of(self.volume)]) for _ in range(2)))
                return [result.as_numpy(self.output) for result in both]

        for output in asyncio.run(ask()):
            np.testing.assert_array_equal(output, self.expected)

    def test_stream(self):
        replies = queue.Queue()
        with self.daemon.client() as client:
            client.start_stream(callback=lambda result, error: replies.put((result, error)))
            for name in (MODEL, "none", MODEL):
                client.async_stream_infer(
                    name, [tensor_of(self.volume)], request_id=name, enable_empty_final_response=True
                )
            outcomes = [replies.get(timeout=120) for _ in range(3)]
            client.stop_stream()
        for result, error in (outcomes[0], outcomes[2]):
            self.assertIsNone(error)
            np.testing.assert_array_equal(result.as_numpy(self.output), self.expected)
            self.assertTrue(result.get_response().parameters["triton_final_response"].bool_param)
        self.assertIn("unknown model", str(outcomes[1][1]))

    def test_shared_memory(self):
        inside = shared.create_shared_memory_region("inside", "/znni_e2e_inside", self.volume.nbytes)
        outside = shared.create_shared_memory_region("outside", "/znni_e2e_outside", self.expected.nbytes)
        try:
            shared.set_shared_memory_region(inside, [self.volume])
            self.client.register_system_shared_memory("inside", "/znni_e2e_inside", self.volume.nbytes)
            self.client.register_system_shared_memory("outside", "/znni_e2e_outside", self.expected.nbytes)
            self.assertEqual(len(self.client.get_system_shared_memory_status().regions), 2)
            with self.assertRaises(triton.InferenceServerException) as caught:
                self.client.register_system_shared_memory("inside", "/znni_e2e_inside", 8)
            self.assertIn("ALREADY_EXISTS", caught.exception.status())
            tensor = triton.InferInput("input", list(self.volume.shape), "FP32")
            tensor.set_shared_memory("inside", self.volume.nbytes)
            wanted = triton.InferRequestedOutput(self.output)
            wanted.set_shared_memory("outside", self.expected.nbytes)
            result = self.client.infer(MODEL, [tensor], outputs=[wanted])
            self.assertEqual(list(result.get_output(self.output).shape), list(self.expected.shape))
            np.testing.assert_array_equal(
                shared.get_contents_as_numpy(outside, np.float32, self.expected.shape), self.expected
            )
            wanted.set_shared_memory("outside", self.expected.nbytes - 4)
            with self.assertRaises(triton.InferenceServerException) as caught:
                self.client.infer(MODEL, [tensor], outputs=[wanted])
            self.assertIn("INVALID_ARGUMENT", caught.exception.status())
            self.client.unregister_system_shared_memory()
            with self.assertRaises(triton.InferenceServerException) as caught:
                self.client.infer(MODEL, [tensor])
            self.assertIn("NOT_FOUND", caught.exception.status())
        finally:
            self.client.unregister_system_shared_memory()
            shared.destroy_shared_memory_region(inside)
            shared.destroy_shared_memory_region(outside)

    def test_memory_of_other_files_is_out_of_reach(self):
        for key in ("../etc/passwd", "/etc/passwd", "/..", ""):
            with self.assertRaises(triton.InferenceServerException) as caught:
                self.client.register_system_shared_memory("file", key, 1)
            self.assertIn("INVALID_ARGUMENT", caught.exception.status(), key)

    def test_of_cuda_memory_there_is_none(self):
        self.assertEqual(len(self.client.get_cuda_shared_memory_status().regions), 0)
        self.client.unregister_cuda_shared_memory()
        with self.assertRaises(triton.InferenceServerException) as caught:
            self.client.register_cuda_shared_memory("r", b"aGFuZGxl", 0, 8)
        self.assertIn("UNIMPLEMENTED", caught.exception.status())

    def test_log_settings_are_read(self):
        self.assertTrue(self.client.get_log_settings().settings["log_info"].bool_param)
        with self.assertRaises(triton.InferenceServerException):
            self.client.update_log_settings({"log_info": False})

    def test_start_of_perf_analyzer(self):
        """Sends what Triton's load generator asks before it begins, in its order, and uses the answers as it does."""
        with self.daemon.channel() as channel:
            stub = services.GRPCInferenceServiceStub(channel)
            metadata = stub.ModelMetadata(wire.ModelMetadataRequest(name=MODEL))
            config = stub.ModelConfig(wire.ModelConfigRequest(name=MODEL)).config
            # If there were a batch size, it would drop the first dimension of the metadata's shape.
            self.assertEqual(config.max_batch_size, 0)
            self.assertFalse(config.model_transaction_policy.decoupled)
            self.assertFalse(config.response_cache.enable)
            self.assertEqual(config.WhichOneof("scheduling_choice"), None)
            self.assertEqual([tensor.name for tensor in config.input], [tensor.name for tensor in metadata.inputs])
            extensions = stub.ServerMetadata(wire.ServerMetadataRequest()).extensions
            self.assertIn("statistics", extensions)
            stub.SystemSharedMemoryUnregister(wire.SystemSharedMemoryUnregisterRequest())
            stub.CudaSharedMemoryUnregister(wire.CudaSharedMemoryUnregisterRequest())
            before = stub.ModelStatistics(wire.ModelStatisticsRequest(name=MODEL)).model_stats[0]
            request = wire.ModelInferRequest(model_name=MODEL)
            request.parameters["triton_enable_empty_final_response"].bool_param = True
            request.inputs.add(name="input", datatype="FP32", shape=self.volume.shape)
            request.outputs.add(name=self.output)
            request.raw_input_contents.append(self.volume.tobytes())
            for _ in range(3):
                self.assertEqual(len(stub.ModelInfer(request).raw_output_contents), 1)
            after = stub.ModelStatistics(wire.ModelStatisticsRequest(name=MODEL)).model_stats[0]
        rises = [after.inference_count - before.inference_count, after.execution_count - before.execution_count]
        for field in ("success", "queue", "compute_input", "compute_infer", "compute_output"):
            rises.append(getattr(after.inference_stats, field).count - getattr(before.inference_stats, field).count)
        self.assertEqual(set(rises), {3})
        times = after.inference_stats
        self.assertEqual(
            times.success.ns, times.queue.ns + times.compute_input.ns + times.compute_infer.ns + times.compute_output.ns
        )

    def test_a_request_of_several_volumes_is_one_success_and_as_many_inferences(self):
        with self.daemon.client() as client:
            before = client.get_inference_statistics(MODEL).model_stats[0]
            volumes = np.concatenate([self.volume] * 3)
            tensor = triton.InferInput("input", list(volumes.shape), "FP32")
            tensor.set_data_from_numpy(volumes)
            client.infer(MODEL, [tensor])
            after = client.get_inference_statistics(MODEL).model_stats[0]
        for field in ("success", "queue", "compute_infer"):
            rise = getattr(after.inference_stats, field).count - getattr(before.inference_stats, field).count
            self.assertEqual(rise, 1, field)
        self.assertEqual(after.inference_count - before.inference_count, 3)
        executions = after.execution_count - before.execution_count
        self.assertIn(executions, (1, 2, 3))  # requests that share a patch run together
        self.assertEqual(
            after.batch_stats[0].compute_infer.count - before.batch_stats[0].compute_infer.count, executions
        )

    def test_properties_tell_what_a_client_needs(self):
        with self.daemon.channel() as channel:
            reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
            pool = descriptor_pool.DescriptorPool()
            self.add_files(reflection, pool, SERVICE, set())
            service = pool.FindServiceByName(SERVICE)
            method = service.methods_by_name["ModelMetadata"]
            ask = channel.unary_unary(
                f"/{SERVICE}/ModelMetadata",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
            )
            properties = ask(message_factory.GetMessageClass(method.input_type)(name=MODEL)).properties
        self.assertEqual(properties["field_of_view"], "10,10,10")
        self.assertEqual(properties["output_extent"], "input - field_of_view + 1")
        for name in ("halo_before", "halo_after", "patch", "plan", "max_request_bytes", "max_chunk_bytes"):
            self.assertTrue(properties[name], name)

    def add_files(self, reflection, pool, symbol, known):
        """Adds the file of `symbol` and the files it needs, by the server's reflection."""
        ask = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
        reply = next(reflection.ServerReflectionInfo(iter([ask])))
        files = [
            descriptor_pb2.FileDescriptorProto.FromString(data)
            for data in reply.file_descriptor_response.file_descriptor_proto
        ]
        for file in sorted(files, key=lambda each: len(each.dependency)):
            if file.name not in known:
                known.add(file.name)
                pool.Add(file)


if __name__ == "__main__":
    unittest.main()
