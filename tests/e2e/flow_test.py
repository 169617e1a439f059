"""Tests streamed volumes: larger than memory, in both directions at once, broken and continued, stopped midway."""

import itertools
import json
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
import h5py
import nets
import numpy as np
import tritonclient.grpc as triton
from harness import LONGEST_START, ZNNID, Daemon, memory_left, volumes_stubs

messages, services = volumes_stubs()
CHUNK = 1 << 20
HALO = 9  # planes; the field of view is 10
ENOUGH = 200  # planes for the first output, whatever patch this machine's plan has for a long volume
MEM = 192 << 20
BIG = 1 << 31


class Stream:
    """One call of Volumes.Infer for an array [Z,Y,X] of bytes, whose output is bytes too."""

    def __init__(self, channel, volume, first_plane=0, token="", pause=None):
        self.volume = volume
        self.accepted = None
        self.output = bytearray()
        self.done = None
        self.pause = pause or (lambda plane: None)
        self.first = first_plane
        header = messages.VolumeHeader(
            model_name="net",
            datatype="UINT8",
            output_datatype="UINT8",
            channels=1,
            first_plane=first_plane,
            resume_token=token,
            extent=messages.Extent(z=volume.shape[0], y=volume.shape[1], x=volume.shape[2]),
        )
        self.call = services.VolumesStub(channel).Infer(self.requests(header))

    def requests(self, header):
        """Yields the requests, plane by plane."""
        yield messages.VolumeRequest(header=header)
        offset = self.first * self.volume[0].nbytes
        for z in range(self.first, self.volume.shape[0]):
            self.pause(z)
            data = self.volume[z].tobytes()
            for at in range(0, len(data), CHUNK):
                part = data[at : at + CHUNK]
                yield messages.VolumeRequest(chunk=messages.VolumeChunk(offset=offset + at, data=part))
            offset += len(data)

    def read(self, planes=None, pause=0.0):
        """Reads until `planes` output planes have arrived (None: all)."""
        while planes is None or self.accepted is None or len(self.output) < planes * self.plane_bytes:
            response = next(self.call, None)
            if response is None:
                return self
            kind = response.WhichOneof("message")
            if kind == "accepted":
                self.accepted = response.accepted
                extent = self.accepted.extent
                self.plane_bytes = self.accepted.channels * extent.y * extent.x
            elif kind == "chunk":
                assert response.chunk.offset == self.first * self.plane_bytes + len(self.output)
                self.output += response.chunk.data
                time.sleep(pause)
            elif kind == "done":
                self.done = response.done
        return self

    def planes(self):
        """Returns the output so far, [Z,C,Y,X]."""
        extent = self.accepted.extent
        whole = len(self.output) // self.plane_bytes
        data = np.frombuffer(bytes(self.output[: whole * self.plane_bytes]), np.uint8)
        return data.reshape(whole, self.accepted.channels, extent.y, extent.x)


class FlowTest(unittest.TestCase):
    """Each test has a daemon with little memory."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.net = nets.small_net(7)
        nets.save(cls.net, cls.folder.name, "net")
        (pathlib.Path(cls.folder.name) / "net" / "config.pbtxt").write_text(
            "parameters { key: 'input_scale' value { string_value: '0.00392156862745098' } }"
        )
        cls.rng = np.random.default_rng(3)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def daemon(self, *arguments):
        """Returns a daemon. Its transport memory is an eighth of MEM."""
        return Daemon(self.folder.name, "--max-request-bytes", "1M", *arguments, mem=str(MEM))

    def volume(self, extent):
        return self.rng.integers(0, 255, extent, np.uint8)

    def expect_right(self, volume, output, first=0):
        """Compares some windows of the output [Z,C,Y,X], which begins at plane `first`, with the net itself."""
        for z in {0, len(output) // 2, len(output) - 1}:
            for corner in (0, output.shape[3] - 6):
                window = volume[
                    first + z : first + z + HALO + 1, corner : corner + HALO + 6, corner : corner + HALO + 6
                ]
                exact = nets.run_dilated(self.net, window[None, None].astype(np.float32) / 255)[0][:, 0]
                found = output[z, :, corner : corner + 6, corner : corner + 6]
                self.assertLessEqual(np.abs(found - exact * 255).max(), 0.51, (z, corner))

    def flow(self, daemon):
        """Returns what the model's calls have received, computed and sent, by /metrics."""
        return {
            name: daemon.metric(f"znni_{name}_total", model="net")
            for name in ("patches", "output_voxels", "received_bytes", "sent_bytes")
        }

    def test_a_volume_larger_than_its_memory(self):
        volume = self.volume((160, 400, 300))  # 18 MiB in, 33 MiB out, through 24 MiB
        with self.daemon() as daemon, daemon.channel() as channel:
            stream = Stream(channel, volume).read()
            self.assertIsNotNone(stream.done)
            self.expect_right(volume, stream.planes())
            self.assertLess(daemon.metric("znni_memory_peak_bytes", pool="transport"), 24 << 20)
            self.assertLess(daemon.memory("VmHWM"), MEM)

    def test_output_comes_before_all_input_was_sent(self):
        volume = self.volume((300, 60, 60))
        may_go_on = threading.Event()
        with self.daemon() as daemon, daemon.channel() as channel:
            stream = Stream(channel, volume, pause=lambda z: z < ENOUGH or may_go_on.wait(LONGEST_START))
            stream.read(planes=1)
            under_way = self.flow(daemon)
            self.assertEqual(daemon.metric("znni_requests_total", method="Volumes"), 0)
            self.assertGreater(under_way["patches"], 0)
            self.assertGreater(under_way["output_voxels"], 0)
            self.assertGreater(under_way["received_bytes"], 0)
            self.assertLessEqual(under_way["received_bytes"], ENOUGH * 60 * 60)
            self.assertGreater(daemon.metric("znni_stage_seconds_total", stage="head"), 0)
            dense = (300 - HALO) * (60 - HALO) ** 2
            self.assertEqual(daemon.metric("znni_job_voxels", state="asked"), dense)
            self.assertGreater(daemon.metric("znni_job_voxels", state="done"), 0)
            may_go_on.set()
            self.expect_right(volume, stream.read().planes())
            while daemon.metric("znni_requests_total", method="Volumes", code="OK") == 0:
                time.sleep(0.01)
            ended = self.flow(daemon)
            self.assertEqual(ended["output_voxels"], dense)
            self.assertEqual(ended["received_bytes"], volume.nbytes)
            self.assertEqual(ended["sent_bytes"], len(stream.output))
            self.assertGreater(ended["patches"], under_way["patches"])
            self.assertEqual(daemon.metric("znni_job_voxels"), 0)

    def test_a_slow_writer_holds_up_nobody(self):
        volume = self.volume((300, 60, 60))
        may_go_on = threading.Event()
        with self.daemon() as daemon, daemon.channel() as channel, daemon.channel() as other:
            slow = Stream(channel, volume, pause=lambda z: z != ENOUGH or may_go_on.wait(LONGEST_START))
            slow.read(planes=1)
            quick = self.volume((30, 30, 30))
            self.expect_right(quick, Stream(other, quick).read().planes())
            may_go_on.set()
            self.expect_right(volume, slow.read().planes())

    def test_a_slow_reader_is_not_waited_for_by_others_and_bounds_memory(self):
        volume = self.volume((200, 150, 150))
        with self.daemon() as daemon, daemon.channel() as channel, daemon.channel() as other:
            slow = Stream(channel, volume).read(planes=1)
            quick = self.volume((30, 30, 30))
            self.expect_right(quick, Stream(other, quick).read().planes())
            self.assertLess(daemon.memory("VmRSS"), MEM)
            self.expect_right(volume, slow.read(pause=0.001).planes())

    def test_a_stream_that_broke_goes_on(self):
        """The daemon is killed in the middle, and another one takes over. What is sent and not read yet is far less
        than the 16 MiB of output."""
        volume = self.volume((160, 240, 240))
        with self.daemon() as daemon, daemon.channel() as channel:
            broken = Stream(channel, volume).read(planes=30)
            daemon.process.send_signal(signal.SIGKILL)
            with self.assertRaises(grpc.RpcError) as caught:
                broken.read()
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        done = broken.planes()
        self.assertLess(len(done), 151)
        with self.daemon() as daemon, daemon.channel() as channel:
            whole = Stream(channel, volume).read().planes()
            rest = Stream(channel, volume, len(done), broken.accepted.resume_token).read().planes()
            self.assertEqual(len(done) + len(rest), 151)
            np.testing.assert_allclose(np.concatenate([done, rest]), whole, atol=1)
            self.expect_right(volume, rest, len(done))
            other = volume[:, :, :60]
            with self.assertRaises(grpc.RpcError) as caught:
                Stream(channel, other, len(done), broken.accepted.resume_token).read()
            self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        with Daemon(self.folder.name, mem=str(2 * MEM)) as daemon, daemon.channel() as channel:  # another plan
            with self.assertRaises(grpc.RpcError) as caught:
                Stream(channel, volume, len(done), broken.accepted.resume_token).read()
            self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
            self.assertIn("not that of this volume, model and plan", caught.exception.details())

    def infer(self, daemon, folder, *more, output="out.npy"):
        """Starts the client's program on in.npy."""
        return subprocess.Popen(
            [
                ZNNID.with_name("znni"),
                "infer",
                "--server",
                daemon.url,
                "-m",
                "net",
                "-i",
                f"{folder}/in.npy",
                "-o",
                f"{folder}/{output}",
                "--dtype",
                "uint8",
                "--no-progress",
                "--json",
                *more,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def expect_exact(self, volume, output, y, x):
        """Compares rows and columns of plane 20 with the exact output, to the half that rounding takes."""
        window = volume[20 : 21 + HALO, y.start : y.stop + HALO, x.start : x.stop + HALO]
        exact = nets.run_dilated(self.net, window[None, None].astype(np.float32) / 255)[0][:, 0]
        self.assertLessEqual(np.abs(output[20, :, y, x] - exact * 255).max(), 0.51, (y, x))

    def wait_for_a_recorded_part(self, daemon, client):
        """Waits until a part's stream has ended and the next one's job has begun, before which the client records the
        part; or until the client has ended."""
        while client.poll() is None and (
            daemon.metric("znni_requests_total", method="Volumes", code="OK") == 0 or daemon.metric("znni_jobs") == 0
        ):
            time.sleep(0.01)

    def test_a_killed_client_loses_no_recorded_part(self):
        volume = self.volume((60, 500, 500))
        with self.daemon() as daemon, tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/in.npy", volume)
            killed = self.infer(daemon, folder, output="out.h5:/prob")
            self.wait_for_a_recorded_part(daemon, killed)
            killed.kill()
            killed.communicate(timeout=LONGEST_START)
            rest = self.infer(daemon, folder, "--resume", output="out.h5:/prob")
            found, said = rest.communicate(timeout=LONGEST_START)
            self.assertEqual(rest.returncode, 0, said)
            self.assertGreaterEqual(json.loads(found)["resumed_parts"], 1)
            with h5py.File(f"{folder}/out.h5") as file:
                self.expect_right(volume, file["prob"][:].transpose(1, 0, 2, 3))

    def test_a_wide_volume_goes_in_parts(self):
        """The run is interrupted in the middle and continues."""
        volume = self.volume((60, 800, 800))
        header = messages.VolumeHeader(
            model_name="net",
            datatype="UINT8",
            output_datatype="UINT8",
            channels=1,
            extent=messages.Extent(z=60, y=800, x=800),
        )
        with self.daemon() as daemon, daemon.channel() as channel, tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/in.npy", volume)
            told = services.VolumesStub(channel).Outlook(header)
            self.assertGreater(told.parts, 4)
            self.assertTrue(told.part.x < 791 or told.part.y < 791, told)
            self.assertLess(told.predicted_seconds_in_parts, told.predicted_seconds)
            broken = self.infer(daemon, folder)
            self.wait_for_a_recorded_part(daemon, broken)
            broken.send_signal(signal.SIGINT)
            _, said = broken.communicate(timeout=LONGEST_START)
            self.assertEqual(broken.returncode, 130, said)
            self.assertIn(f" of {told.parts} parts", said)
            rest = self.infer(daemon, folder, "--resume")
            found, said = rest.communicate(timeout=LONGEST_START)
            self.assertEqual(rest.returncode, 0, said)
            self.assertEqual(json.loads(found)["parts"], told.parts)
            self.assertGreaterEqual(json.loads(found)["resumed_parts"], 1)
            output = np.load(f"{folder}/out.npy").transpose(1, 0, 2, 3)
            self.assertEqual(output.shape, (51, 2, 791, 791))
            self.expect_right(volume, output)
            for y in range(told.part.y, 791, told.part.y):
                self.expect_exact(volume, output, slice(y - 3, y + 3), slice(100, 101))
            for x in range(told.part.x, 791, told.part.x):
                self.expect_exact(volume, output, slice(100, 101), slice(x - 3, x + 3))
            self.assertLess(daemon.memory("VmHWM"), MEM)

    def test_sigterm_in_every_state_of_a_stream(self):
        """A stream that waits for its client is stopped when the time is up, and the exit code is still 0."""
        volume = self.volume((400, 300, 300))  # 66 MiB out: more than daemon and transport hold
        for state, pause, planes in (("receiving", 5, 0), ("computing", 200, 1), ("sending", None, 1)):
            with self.subTest(state), self.daemon("--exit-timeout-secs", "0.5") as daemon, daemon.channel() as channel:
                release = threading.Event()
                stream = Stream(channel, volume, pause=lambda z, at=pause: z != at or release.wait(LONGEST_START))
                stream.read(planes)
                self.assertEqual(daemon.stop(), 0, "\n".join(daemon.log))
                release.set()
                with self.assertRaises(grpc.RpcError) as caught:
                    stream.read()
                self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_messages_around_two_gibibytes_leave_it_serving(self):
        if memory_left() < 3 * BIG:
            self.skipTest("the client's message needs 6 GiB")
        with self.daemon() as daemon, daemon.channel() as channel:
            send = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            for size in (BIG - 1, BIG, BIG + 1):
                with self.assertRaises(grpc.RpcError) as caught:
                    send(bytes(size), timeout=LONGEST_START)
                self.assertIn(caught.exception.code(), (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL))
                self.assertLess(daemon.memory("VmHWM"), MEM)
            small = self.volume((20, 20, 20))
            self.expect_right(small, Stream(channel, small).read().planes())

    def test_answers_around_two_gibibytes_are_refused_before_any_work(self):
        """A message of 2 GiB would make the protocol library end the process. Tests a plane less, as much, one more."""
        with tempfile.TemporaryDirectory() as repository:
            nets.save(nets.small_net(7, f_out=64), repository, "net")
            with Daemon(repository, "--max-request-bytes", "16M", mem="320M") as daemon, daemon.client() as client:
                for planes in (127, 128, 129):
                    extent = (planes + HALO, 256 + HALO, 256 + HALO)
                    tensor = triton.InferInput("input", [1, 1, *extent], "UINT8")
                    tensor.set_data_from_numpy(np.zeros((1, 1, *extent), np.uint8))
                    with self.assertRaises(triton.InferenceServerException) as caught:
                        client.infer("net", [tensor])
                    self.assertIn("RESOURCE_EXHAUSTED", caught.exception.status())
                    self.assertIn(f"{planes * 256 * 256 * 64 * 4} bytes", caught.exception.message())
                self.assertEqual(daemon.metric("znni_jobs"), 0)
                self.assertEqual(client.get_inference_statistics("net").model_stats[0].execution_count, 0)
                self.assertLess(daemon.memory("VmHWM"), 320 << 20)
                tensor = triton.InferInput("input", [1, 1, 10, 10, 10], "UINT8")
                tensor.set_data_from_numpy(np.zeros((1, 1, 10, 10, 10), np.uint8))
                self.assertEqual(len(client.infer("net", [tensor]).get_response().raw_output_contents[0]), 64 * 4)

    def test_volumes_around_two_gibibytes_are_accepted(self):
        """Bytes of input and of output pass 2^31, and nothing is allocated for them."""
        with self.daemon() as daemon, daemon.channel() as channel:
            for z in (BIG // 2500 - 1, BIG // 2500, BIG // 2500 + 1, 2 * BIG // 2500):
                header = messages.VolumeHeader(
                    model_name="net",
                    datatype="UINT8",
                    output_datatype="UINT8",
                    channels=1,
                    extent=messages.Extent(z=z, y=50, x=50),
                )
                call = services.VolumesStub(channel).Infer(
                    itertools.chain([messages.VolumeRequest(header=header)], self.never())
                )
                accepted = next(call).accepted
                self.assertEqual((accepted.extent.z, accepted.extent.y), (z - HALO, 41))
                call.cancel()
            self.assertLess(daemon.memory("VmHWM"), MEM)

    @staticmethod
    def never():
        """Sends nothing more."""
        time.sleep(30)
        yield from ()


if __name__ == "__main__":
    unittest.main()
