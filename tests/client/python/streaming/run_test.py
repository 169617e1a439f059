"""Streams that are refused, break, go on and come in parts."""

import dataclasses
import logging
import unittest
import warnings
from unittest import mock

import grpc
import numpy as np
from fake_daemon import WHOLE, Broken, FakeDaemon, Refused
from znni.calls.connection import Connection
from znni.calls.patience import Patience
from znni.calls.route import Route
from znni.calls.servers import Servers
from znni.errors import Error, InvalidError, OverBudgetError, ReplacedError, UnavailableError
from znni.job import plan_job
from znni.progress import Silent
from znni.stores.array import ArraySource, ArrayTarget
from znni.stores.seam import OutputFacts
from znni.streaming.run import Run

VOLUME = np.random.default_rng(4).integers(0, 255, (9, 10, 11)).astype(np.uint8)
PLANE = 110
CODE = grpc.StatusCode


class Recorder(Silent):
    """Keeps what is shown."""

    def __init__(self):
        self.shown = []

    def show(self, done):
        self.shown.append(done)


class Summed(ArrayTarget):
    """Adds what is written to what is there."""

    def write(self, start, block):
        z, y, x = (slice(a, a + n) for a, n in zip(start, block.shape[1:]))
        super().write(start, block + self.array[z, y, x])


class RunTest(unittest.TestCase):
    def setUp(self):
        log = logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.ERROR)
        self.tries, self.progress = 0, Recorder()

    def sleep(self, _):
        self.tries += 1

    def run_with(self, daemon, resume=True, seconds=1000, volume=VOLUME, source=None, averaged=()):
        """Streams the volume through the daemon and returns the output; of passes their sum, in float32."""
        output = np.zeros(volume.shape, np.float32 if averaged else np.uint8)
        with daemon.served() as address:
            servers = Servers([address])
            self.addCleanup(servers.close)
            route = self.enterContext(Route(servers, lambda: Patience(seconds, sleep=self.sleep)))
            model = route.connection.model("same")
            job = plan_job(model, source or ArraySource(volume, "volume"), None, "none", output.dtype)
            jobs = dataclasses.replace(job, averaged=averaged).passes()
            facts = OutputFacts((1, *volume.shape), job.dtype, 3, None, None, (0, 0, 0), {})
            target = Summed(output, facts) if averaged else ArrayTarget(output, facts)
            Run(route, jobs, target, self.progress, resume).run()
        return output

    def first_planes(self, daemon):
        return [header.first_plane for header in daemon.headers]

    def test_one_stream(self):
        daemon = FakeDaemon()
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual((self.tries, self.progress.shown), (0, [VOLUME.size]))

    def test_passes(self):
        """Each goes on where it broke; planes that come twice are added once."""
        volume = VOLUME.astype(np.float32)
        daemon = FakeDaemon([WHOLE, Broken(5 * 4 * PLANE), WHOLE, Broken(0), WHOLE, WHOLE], part=(10, 11))
        found = self.run_with(daemon, volume=volume, averaged=(0, 2))
        np.testing.assert_array_equal(found, 4 * volume)
        self.assertEqual(self.first_planes(daemon), [0, 0, 5, 0, 0, 0])
        for sent, axes in ((0, ()), (1, (0,)), (4, (2,)), (5, (0, 2))):
            self.assertEqual(daemon.sent[sent], np.flip(volume, axes).tobytes())
        self.assertEqual(self.progress.shown[-1], 4 * VOLUME.size)
        self.assertEqual(self.progress.shown, sorted(self.progress.shown))

    def test_another_model_in_the_next_pass(self):
        daemon = FakeDaemon(model_tokens=["one", "two"])
        with self.assertRaisesRegex(ReplacedError, "is another than that of the planes that are there"):
            self.run_with(daemon, volume=VOLUME.astype(np.float32), averaged=(1,))

    def test_begins_once_the_model_is_there(self):
        daemon = FakeDaemon([Refused(CODE.UNAVAILABLE)] * 3)
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual((self.tries, len(daemon.headers)), (3, 4))

    def test_does_not_begin(self):
        with self.assertRaisesRegex(UnavailableError, "^not now$"):
            self.run_with(FakeDaemon([Refused(CODE.UNAVAILABLE)] * 3), seconds=0)
        with self.assertRaisesRegex(OverBudgetError, "^not now$"):
            self.run_with(FakeDaemon([Refused(CODE.RESOURCE_EXHAUSTED)]))
        with self.assertRaisesRegex(InvalidError, "^not now$"):
            self.run_with(FakeDaemon([Refused(CODE.INVALID_ARGUMENT)]))
        self.assertEqual(self.tries, 0)

    def test_goes_on_where_it_broke(self):
        full = Refused(CODE.RESOURCE_EXHAUSTED)
        daemon = FakeDaemon([Broken(3 * PLANE + 50), full, Broken(5 * PLANE)])
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual(self.first_planes(daemon), [0, 3, 3, 5])
        self.assertEqual([header.resume_token for header in daemon.headers], ["", "token", "token", "token"])
        self.assertEqual(daemon.sent[1], VOLUME[3:].tobytes())

    def test_breaks_behind_its_last_plane(self):
        daemon = FakeDaemon([Broken(VOLUME.size)])
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual(self.first_planes(daemon), [0, 8])

    def test_does_not_go_on(self):
        """It does not go on without a token, if the caller does not want it, or if the stream did not break."""
        for daemon, resume in (
            (FakeDaemon([Broken(3 * PLANE)], token=""), True),
            (FakeDaemon([Broken(3 * PLANE)]), False),
            (FakeDaemon([Broken(3 * PLANE, CODE.INTERNAL)]), True),
        ):
            with self.assertRaisesRegex(Error, "^broken$"):
                self.run_with(daemon, resume)
            self.assertEqual(len(daemon.headers), 1)

    def test_another_model_in_between(self):
        with self.assertRaisesRegex(ReplacedError, "start over"):
            self.run_with(FakeDaemon([Broken(3 * PLANE)], model_tokens=["one", "two"]))

    def test_parts(self):
        daemon = FakeDaemon(part=(4, 6))
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        extents = [(header.extent.y, header.extent.x) for header in daemon.headers]
        self.assertEqual(extents, [(4, 6), (4, 5), (4, 6), (4, 5), (2, 6), (2, 5)])
        self.assertEqual(self.progress.shown[-1], VOLUME.size)
        self.assertEqual(self.progress.shown, sorted(self.progress.shown))

    def test_asks_again_for_parts(self):
        daemon = FakeDaemon(part=(4, 6), outlooks=[CODE.UNAVAILABLE])
        np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual((self.tries, len(daemon.headers)), (1, 6))

    def test_one_stream_where_parts_are_not_known(self):
        daemon = FakeDaemon(part=(4, 6), outlooks=[CODE.INTERNAL])
        with self.assertWarnsRegex(UserWarning, "it goes in one stream: no outlook now"):
            np.testing.assert_array_equal(self.run_with(daemon), VOLUME)
        self.assertEqual(len(daemon.headers), 1)
        with self.assertRaisesRegex(InvalidError, "^no outlook now$"):
            self.run_with(FakeDaemon(outlooks=[CODE.INVALID_ARGUMENT]))

    def test_parts_of_nothing(self):
        with self.assertRaisesRegex(Error, "parts of 0 rows and 6 columns"):
            self.run_with(FakeDaemon(part=(0, 6)))

    def test_an_old_daemon_needs_no_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.run_with(FakeDaemon())

    def test_an_error_of_reading(self):
        source = ArraySource(VOLUME, "volume")

        def read(_):
            raise OSError("disk")

        source.read = read
        with self.assertRaisesRegex(OSError, "^disk$"):
            self.run_with(FakeDaemon(), source=source)

    def test_an_error_of_reading_that_the_daemon_takes_for_the_end(self):
        """It may do so before the call is cancelled."""

        class Uncancelled:
            def __init__(self, call):
                self.call, self.cancel = call, lambda: None

            def __iter__(self):
                return iter(self.call)

        source, stream = ArraySource(VOLUME, "volume"), Connection.stream
        source.read = mock.Mock(side_effect=OSError("disk"))
        with mock.patch.object(Connection, "stream", lambda *ours: Uncancelled(stream(*ours))):
            with self.assertRaisesRegex(OSError, "^disk$"):
                self.run_with(FakeDaemon(), source=source)

    def test_names_the_voxel_that_is_not_finite(self):
        volume = np.zeros((4, 5, 6), np.float32)
        volume[1, 2, 3] = np.inf
        daemon = FakeDaemon([Broken(0, CODE.INVALID_ARGUMENT)])
        output = np.zeros(volume.shape, np.uint8)
        words = r"^broken; the first voxel of volume that is not finite is at channel 0, z 1, y 2, x 3 \(inf\)$"
        with self.assertRaisesRegex(InvalidError, words):
            self.run_with(daemon, volume=output, source=ArraySource(volume, "volume"))


if __name__ == "__main__":
    unittest.main()
