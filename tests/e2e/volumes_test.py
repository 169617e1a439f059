"""Tests the stream znni.v1.Volumes with bare stubs."""

import itertools
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import grpc
import nets
import numpy as np
from harness import LONGEST_START, Daemon, volumes_stubs

messages, services = volumes_stubs()
CHUNK = 1 << 20
LARGE = (1, 150, 150, 150)  # of a client that is killed
TYPES = {"FP32": np.float32, "FP16": np.float16, "UINT8": np.uint8, "UINT16": np.uint16}


def names_of(volume):
    """Returns the datatype of an array on the wire."""
    return next(name for name, kind in TYPES.items() if volume.dtype == kind)


def requests(volume, model="net", chunk=CHUNK, output_datatype="", send=None):
    """Yields header and chunks of a volume [C,Z,Y,X], or only its first `send` bytes."""
    extent = messages.Extent(z=volume.shape[1], y=volume.shape[2], x=volume.shape[3])
    yield messages.VolumeRequest(
        header=messages.VolumeHeader(
            model_name=model,
            id="volume",
            datatype=names_of(volume),
            channels=volume.shape[0],
            extent=extent,
            output_datatype=output_datatype,
        )
    )
    data = np.ascontiguousarray(volume.transpose(1, 0, 2, 3)).tobytes()[:send]
    for offset in range(0, len(data), chunk):
        yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=offset, data=data[offset : offset + chunk]))


def collect(responses):
    """Returns (accepted, output [C,Z,Y,X], progress messages, done) of a complete stream."""
    accepted, data, progress, done = None, bytearray(), [], None
    for response in responses:
        kind = response.WhichOneof("message")
        if kind == "accepted":
            accepted = response.accepted
        elif kind == "chunk":
            assert response.chunk.offset == len(data) and len(response.chunk.data) <= CHUNK
            data += response.chunk.data
        elif kind == "progress":
            progress.append(response.progress)
        else:
            done = response.done
    shape = (accepted.extent.z, accepted.channels, accepted.extent.y, accepted.extent.x)
    output = np.frombuffer(bytes(data), TYPES[accepted.datatype]).reshape(shape).transpose(1, 0, 2, 3)
    return accepted, output, progress, done


class VolumesTest(unittest.TestCase):
    """All tests use one daemon."""

    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.TemporaryDirectory()
        cls.net = nets.small_net(7, f_out=3)
        nets.save(cls.net, cls.repository.name, "net")
        # Messages may be only 1 MiB, which does not limit volumes.
        cls.daemon = Daemon(cls.repository.name, "--max-request-bytes", "1M").wait_ready()
        cls.channel = cls.daemon.channel()
        cls.stub = services.VolumesStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.daemon.stop()
        cls.repository.cleanup()

    def tearDown(self):
        self.assertIsNone(self.daemon.process.poll(), "\n".join(self.daemon.log))

    def volume(self, extent, kind=np.float32, seed=0):
        """Returns one channel of random voxels."""
        rng = np.random.default_rng(seed)
        return (rng.random((1, *extent)) * (4 if kind == np.uint8 else 1)).astype(kind)

    def expect_dense(self, volume):
        """Streams a volume and compares its output with the reference."""
        accepted, output, progress, done = collect(self.stub.Infer(requests(volume)))
        reference = nets.run_dilated(self.net, volume[None].astype(np.float32))[0]
        np.testing.assert_allclose(output, reference, atol=1e-5)
        self.assertEqual(done.bytes, output.nbytes)
        self.assertEqual(accepted.patches, progress[-1].patches)
        self.assertEqual(progress[-1].patches_done, progress[-1].patches)
        return accepted, progress, done

    def test_small_volume(self):
        accepted, _, done = self.expect_dense(self.volume((10, 10, 10)))
        self.assertEqual((accepted.channels, accepted.extent.z, accepted.field_of_view.z), (3, 1, 10))
        self.assertGreater(done.voxels_per_second, 0)

    def test_volume_of_many_messages(self):
        self.expect_dense(self.volume((90, 80, 70)))

    def test_bytes(self):
        self.expect_dense(self.volume((40, 30, 50), np.uint8))

    def test_output_types(self):
        volume = self.volume((20, 20, 20))
        reference = nets.run_dilated(self.net, volume[None])[0]
        _, half, _, _ = collect(self.stub.Infer(requests(volume, output_datatype="FP16")))
        np.testing.assert_allclose(half, reference, atol=1e-3)
        _, whole, _, _ = collect(self.stub.Infer(requests(volume, output_datatype="UINT8")))
        np.testing.assert_allclose(whole, reference * 255, atol=0.51)

    def test_streams_at_the_same_time(self):
        volumes = [self.volume((30, 30, 30), seed=seed) for seed in range(4)]
        calls = [self.stub.Infer(requests(volume)) for volume in volumes]
        for volume, call in zip(volumes, calls):
            np.testing.assert_allclose(collect(call)[1], nets.run_dilated(self.net, volume[None])[0], atol=1e-5)

    def test_a_slow_reader_does_not_hold_the_engine(self):
        volume = self.volume((150, 150, 150))
        slow = self.stub.Infer(requests(volume, output_datatype="UINT8"))
        read = [next(slow)]
        while read[-1].WhichOneof("message") != "chunk":
            read.append(next(slow))
        # The client does not read the rest; other clients get their turn nevertheless, before its stream is ended.
        with self.daemon.channel() as channel:
            collect(services.VolumesStub(channel).Infer(requests(self.volume((30, 30, 30))), timeout=100))
        _, output, _, done = collect(itertools.chain(read, slow))
        self.assertEqual(done.bytes, output.nbytes)
        self.assertEqual(output.shape, (3, 141, 141, 141))

    def refused(self, stream, code, *parts):
        """Expects the stream to end with this status, without VolumeDone."""
        with self.assertRaises(grpc.RpcError) as caught:
            collect(self.stub.Infer(stream))
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        for part in parts:
            self.assertIn(part, caught.exception.details())

    def test_what_is_wrong_ends_the_stream(self):
        volume = self.volume((12, 12, 12))
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        self.refused(requests(volume, model="none"), grpc.StatusCode.NOT_FOUND, "unknown model")
        self.refused(requests(self.volume((12, 9, 12))), invalid, "9", "10")
        self.refused(requests(volume, output_datatype="INT8"), invalid, "'INT8'")
        self.refused(requests(volume, send=6000), invalid, "6000 bytes found, expected 6912")
        self.refused(requests(volume, chunk=CHUNK + 1, send=0), invalid, "0 bytes found")
        self.refused(requests(self.volume((70, 70, 70)), chunk=CHUNK + 4), invalid, "1048580 bytes")
        self.refused(iter(list(requests(volume))[1:]), invalid, "VolumeHeader")
        self.expect_dense(volume)

    def test_a_volume_beyond_the_memory_is_refused_before_data_flows(self):
        header = next(requests(volume=np.zeros((1, 12, 12, 12), np.float32)))
        header.header.extent.z = header.header.extent.y = header.header.extent.x = 4000
        self.refused(iter([header]), grpc.StatusCode.RESOURCE_EXHAUSTED, "net")

    def failures(self):
        """Returns the number of the model's requests that failed."""
        with self.daemon.client() as client:
            return client.get_inference_statistics("net").model_stats[0].inference_stats.fail.count

    def wait_until(self, is_so, what):
        """Waits until `is_so()`, as long as a start may take."""
        deadline = time.monotonic() + LONGEST_START
        while not is_so():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def expect_it_is_over(self, failures):
        """Expects one more failed job, its memory free, and the next job to be right."""
        self.wait_until(lambda: self.failures() == failures + 1, "the job goes on")
        self.wait_until(lambda: self.daemon.metric("znni_memory_used_bytes", pool="transport") == 0, "memory is held")
        self.expect_dense(self.volume((12, 12, 12)))

    def test_a_client_killed_in_mid_stream_ends_only_its_own_job(self):
        # Without its last byte the job cannot end before the client does.
        for bytes_sent in (100_000, 4 * int(np.prod(LARGE)) - 1):
            before = self.failures()
            client = subprocess.Popen(
                [sys.executable, __file__, self.daemon.url, str(bytes_sent)], stdout=subprocess.PIPE
            )
            client.stdout.readline()  # it was accepted and has sent its bytes
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()
            self.expect_it_is_over(before)

    def test_a_cancelled_stream_stops_the_job(self):
        before = self.failures()
        call = self.stub.Infer(requests(self.volume((200, 160, 160))))
        for response in call:
            if response.WhichOneof("message") in ("progress", "chunk"):
                break
        call.cancel()
        self.expect_it_is_over(before)

    def test_a_client_that_cancels_while_it_takes_nothing_frees_what_waits_for_it(self):
        before = self.failures()
        call = self.stub.Infer(requests(self.volume((150, 200, 200))))
        next(call)
        patches = -1.0
        while patches != (patches := self.daemon.metric("znni_patches_total")):
            time.sleep(1)  # until it stops computing, because its output cannot be sent
        self.assertGreater(self.daemon.metric("znni_memory_used_bytes", pool="transport"), 0)
        call.cancel()
        self.expect_it_is_over(before)


def be_killed(url, bytes_sent):
    """Sends so many bytes as a client, prints a line and waits to be killed."""

    def stream():
        yield from requests(np.zeros(LARGE, np.float32), send=bytes_sent)
        print("sent", flush=True)
        time.sleep(600)

    for _ in services.VolumesStub(grpc.insecure_channel(url)).Infer(stream()):
        pass


if __name__ == "__main__":
    if len(sys.argv) == 3:
        be_killed(sys.argv[1], int(sys.argv[2]))
    else:
        unittest.main()
