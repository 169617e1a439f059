"""The front door, beside a fake daemon."""

import logging
import pathlib
import tempfile
import unittest
from unittest import mock

import dask.array
import grpc
import numpy as np
import zarr
import znni
from fake_daemon import Broken, FakeDaemon, Refused
from made_certificate import make_certificate
from s3_server import S3Server
from znni.box import Box
from znni.calls import patience
from znni.pyramid import halvings, making
from znni.pyramid.halving import halve
from znni.stores import remote
from znni.stores.opening import open_source

VOLUME = np.random.default_rng(5).integers(0, 255, (6, 7, 8)).astype(np.uint8)


class Away(FakeDaemon):
    """Does not answer its second question for parts."""

    asked = 0

    def _outlook(self, header, context):
        self.asked += 1
        if self.asked == 2:
            self._end(context, grpc.StatusCode.UNAVAILABLE, "away")
        return super()._outlook(header, context)


class ClientTest(unittest.TestCase):
    def setUp(self):
        log = logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.ERROR)

    def client(self, daemon, **options):
        return self.enterContext(znni.Client(self.enterContext(daemon.served()), **options))

    def test_a_pass_does_not_go_on_at_another_plan(self):
        self.enterContext(mock.patch.object(patience, "_FIRST_DELAY", 0))
        volume = np.random.default_rng(5).integers(0, 255, (6, 7, 8)).astype(np.float32)
        first, other = Away(part=(7, 8)), FakeDaemon(part=(7, 8), model_tokens=["other"] * 9)
        addresses = [self.enterContext(daemon.served()) for daemon in (first, other)]
        with znni.Client(addresses) as client:
            found = client.predict("same", volume, tta="x", progress=False)
        np.testing.assert_array_equal(found, volume)
        self.assertEqual(len(first.headers), 2)

    def test_returns_the_output(self):
        calls = []
        found = self.client(FakeDaemon()).predict(
            "same", VOLUME, dtype="uint8", progress=lambda *both: calls.append(both)
        )
        np.testing.assert_array_equal(found, VOLUME)
        self.assertEqual(calls[-1], (VOLUME.size, VOLUME.size))

    def test_asks_until_the_model_is_loaded(self):
        self.assertEqual(self.client(FakeDaemon(refusals=1)).model("same").version, "3")
        with self.assertRaisesRegex(znni.UnavailableError, "^is loading$"):
            self.client(FakeDaemon(refusals=1), retry_seconds=0).model("same")

    def test_the_version_that_is_asked_for(self):
        daemon = FakeDaemon()
        self.client(daemon).predict("same", VOLUME, dtype="uint8", version="1", progress=False)
        self.assertEqual(daemon.headers[0].model_version, "1")

    def test_a_failed_run_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("o.npy", "o.h5:/x", "o.zarr", "c.n5/o"):
                client = self.client(FakeDaemon([Broken(150)], token=""))
                with self.assertRaisesRegex(znni.UnavailableError, "^broken$"):
                    client.predict("same", VOLUME, f"{folder}/{name}", dtype="uint8", progress=False)
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_what_is_written_beside_an_output(self):
        """Files say all that was chosen, or what was not."""
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/mask.npy", VOLUME > 9)
            chosen = {"scale": (0.5, -1), "mask": f"{folder}/mask.npy", "tta": "yx", "channels": [0], "pad": "edge"}
            noted = {**chosen, "scale": [0.5, -1.0], "value_scale": 1 / 255}
            client = self.client(FakeDaemon())
            for name in ("o.h5:/x", "o.zarr", "c.n5/o", "precomputed", "o.tif", "o.nii", "o.nii.gz", "o.nrrd"):
                for options, expected in (
                    ({"dtype": "uint8", **chosen}, noted),
                    ({"scale": 2}, {"scale": [2.0, 0.0], "pad": "none"}),
                    ({"mask": VOLUME, "dtype": "uint8"}, {"mask": "array", "pad": "none", "value_scale": 1 / 255}),
                ):
                    output = f"precomputed://{folder}/p" if name == "precomputed" else f"{folder}/{name}"
                    client.predict("same", VOLUME, output, progress=False, overwrite=True, **options)
                    with self.subTest(name), open_source(output) as made:
                        found = {key: made.notes[key] for key in noted if key in made.notes}
                        self.assertEqual(found, expected)
                        self.assertEqual((made.notes["offset"], made.notes["field_of_view"]), ([0, 0, 0], [1, 1, 1]))

    def test_a_bucket(self):
        server = S3Server()
        objects = server.buckets["data"]
        with server.served():
            for output in ("s3://data/v.zarr", "s3://data/c.n5/raw", "precomputed://s3://data/p"):
                kept = set(objects)
                with self.assertRaisesRegex(znni.UnavailableError, "^broken$"):
                    self.client(FakeDaemon([Broken(150)], token="")).predict(
                        "same", VOLUME, output, dtype="uint8", progress=False
                    )
                self.assertEqual(set(objects), kept)
                daemon = FakeDaemon([Broken(150), Broken(250)])
                client = self.client(daemon)
                self.assertEqual(client.predict("same", VOLUME, output, dtype="uint8", progress=False), output)
                self.assertEqual([header.first_plane for header in daemon.headers], [0, 2, 4])
                again = self.client(FakeDaemon()).predict("same", output, dtype="uint8", progress=False)
                np.testing.assert_array_equal(again, VOLUME)
                for wanted, words in (
                    (output, "is there already"),
                    ("s3://none/o.zarr", "s3://none/o.zarr: NoSuchBucket"),
                ):
                    with self.assertRaisesRegex(znni.Error, words):
                        client.predict("same", VOLUME, wanted, dtype="uint8", progress=False)
                with self.assertRaisesRegex(znni.InvalidError, "s3://.*: lies in the output .*, or the output in it"):
                    client.predict("same", output, output + "/", dtype="uint8", progress=False, overwrite=True)
                with self.assertRaisesRegex(
                    znni.InvalidError, "^volume: Array found, which may be read from the output"
                ):
                    client.predict(
                        "same", dask.array.from_array(VOLUME), output, dtype="uint8", progress=False, overwrite=True
                    )

    def test_an_image_of_several_resolutions(self):
        self.enterContext(mock.patch.object(halvings, "MOST", 4))
        folder, server = self.enterContext(tempfile.TemporaryDirectory()), S3Server()
        objects = server.buckets["data"]
        self.enterContext(server.served())
        for label in (False, True):
            daemon = FakeDaemon(properties={"largest_channel_number": "254"} if label else {})
            for output in (f"{folder}/{label}.ome.zarr", f"s3://data/{label}.ome.zarr"):
                self.client(daemon).predict("same", VOLUME, output, dtype="uint8", progress=False)
                for path, expected in (("", VOLUME), ("/1", halve(VOLUME, (0, 1, 2), label))):
                    with open_source(output + path) as source:
                        np.testing.assert_array_equal(source.read(Box((0, 0, 0), expected.shape))[0], expected)
        kept = set(objects)
        for broken in (KeyboardInterrupt, OSError):
            with mock.patch.object(making, "fill", side_effect=broken), self.assertRaises(broken):
                self.client(FakeDaemon()).predict("same", VOLUME, "s3://data/x.ome.zarr", dtype="uint8", progress=False)
            self.assertEqual(set(objects), kept)

    def test_an_output_in_shards(self):
        self.enterContext(mock.patch.object(halvings, "MOST", 20))
        folder, server = self.enterContext(tempfile.TemporaryDirectory()), S3Server()
        self.enterContext(server.served())
        volume = np.random.default_rng(8).integers(0, 255, (20, 300, 300)).astype(np.uint8)
        for place in (folder, "s3://data"):
            output = znni.Sharded(f"{place}/o.ome.zarr", 256)
            found = self.client(FakeDaemon(part=(100, 300))).predict(
                "same", volume, output, dtype="uint8", progress=False
            )
            self.assertIs(found, output)
            for path, expected in (("", volume), ("/1", halve(volume, (0, 1, 2), False))):
                with open_source(f"{place}/o.ome.zarr{path}") as source:
                    np.testing.assert_array_equal(source.read(Box((0, 0, 0), expected.shape))[0], expected)
        array = zarr.open_array(f"{folder}/o.ome.zarr/0")
        self.assertEqual((array.chunks, array.shards), ((20, 128, 128), (20, 256, 256)))
        self.assertEqual(len(list(pathlib.Path(folder).glob("o.ome.zarr/0/c/*/*/*"))), 4)

    def test_a_bucket_that_is_busy_for_a_while(self):
        quick = {"max_retries": 3, "initial_delay": "1ms", "max_delay": "2ms"}
        self.enterContext(mock.patch.object(remote, "_RETRIES", quick))
        self.enterContext(mock.patch.object(patience, "_FIRST_DELAY", 0))
        for output in ("s3://data/v.zarr", "s3://data/c.n5/raw"):
            server, daemon = S3Server(), FakeDaemon()

            def is_busy(command, path):
                chunks.append(command == "PUT" and path.endswith("/0/0/0"))
                return chunks[-1] and sum(chunks) <= 6  # the first put, its three tries again, and more

            chunks, server.is_busy = [], is_busy
            with server.served():
                client = self.client(daemon)
                client.predict("same", VOLUME, output, dtype="uint8", progress=False)
                self.assertEqual([header.first_plane for header in daemon.headers], [0, 0])
                again = self.client(FakeDaemon()).predict("same", output, dtype="uint8", progress=False)
                np.testing.assert_array_equal(again, VOLUME)

    def several(self, *daemons, **options):
        """Returns a client of several daemons, which does not wait."""
        self.enterContext(mock.patch.object(patience, "_FIRST_DELAY", 0))
        addresses = [self.enterContext(daemon.served()) for daemon in daemons]
        return self.enterContext(znni.Client(addresses, **options)), addresses

    def predicted(self, client, **options):
        return client.predict("same", VOLUME, dtype="uint8", progress=False, **options)

    def planes(self, daemon):
        return [header.first_plane for header in daemon.headers]

    def test_several_servers_share_calls(self):
        first, second = FakeDaemon(), FakeDaemon()
        client, _ = self.several(first, second)
        inner = []

        def meanwhile(done, total):
            inner.append(self.predicted(client))

        self.predicted(client)
        np.testing.assert_array_equal(client.predict("same", VOLUME, dtype="uint8", progress=meanwhile), VOLUME)
        np.testing.assert_array_equal(inner[0], VOLUME)
        self.assertEqual((self.planes(first), self.planes(second)), ([0, 0], [0]))

    def test_a_call_begins_at_the_server_that_answers(self):
        first, second = FakeDaemon([Refused(grpc.StatusCode.UNAVAILABLE)]), FakeDaemon()
        client, _ = self.several(first, second, retry_seconds=0)
        for _ in range(2):
            np.testing.assert_array_equal(self.predicted(client), VOLUME)
        self.assertEqual((self.planes(first), self.planes(second)), ([0], [0, 0]))
        with znni.Client(["127.0.0.1:1", self.enterContext(second.served())], retry_seconds=0) as client:
            np.testing.assert_array_equal(self.predicted(client), VOLUME)

    def test_a_stream_goes_on_at_another_server(self):
        first, second = FakeDaemon([Broken(150)]), FakeDaemon([Broken(250)])
        client, _ = self.several(first, second)
        np.testing.assert_array_equal(self.predicted(client), VOLUME)
        self.assertEqual((self.planes(first), self.planes(second)), ([0, 4], [2]))

    def test_a_stream_does_not_go_on_at_another_model_or_plan(self):
        for other, planes in (
            (FakeDaemon(properties={"fingerprint": "2"}), []),
            (FakeDaemon(model_tokens=["other"]), [2]),
            (FakeDaemon([Refused(grpc.StatusCode.FAILED_PRECONDITION)]), [2]),
        ):
            first = FakeDaemon([Broken(150)])
            client, _ = self.several(first, other)
            np.testing.assert_array_equal(self.predicted(client), VOLUME)
            self.assertEqual((self.planes(first), self.planes(other)), ([0, 2], planes))
        client, addresses = self.several(
            FakeDaemon([Broken(150)]), FakeDaemon(properties={"fingerprint": "2"}), retry_seconds=0
        )
        with self.assertRaisesRegex(znni.UnavailableError, f"^broken; no other .*: {addresses[1]}: serves another"):
            self.predicted(client)

    def test_no_server(self):
        with self.assertRaisesRegex(znni.InvalidError, r"^address: \[\] found"):
            znni.Client([])

    def test_the_volume_is_no_output(self):
        client = self.client(FakeDaemon())
        for output in (VOLUME, VOLUME[:]):
            with self.assertRaisesRegex(znni.InvalidError, "^output: the volume itself found"):
                client.predict("same", VOLUME, output, dtype="uint8", progress=False)

    def test_the_mask_is_no_output(self):
        client, mask = self.client(FakeDaemon()), np.ones_like(VOLUME)
        for output in (mask, mask[:]):
            with self.assertRaisesRegex(znni.InvalidError, "^output: the mask itself found"):
                client.predict("same", VOLUME, output, mask=mask, dtype="uint8", progress=False)
        self.assertTrue((mask == 1).all())

    def test_keys_need_an_authority(self):
        with self.assertRaisesRegex(ValueError, "tls_root_cert"):
            znni.Client("host:1", tls_key="key.pem")

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            make_certificate(folder, "own")
            client = znni.Client(
                self.enterContext(FakeDaemon().served()), tls_root_cert=f"{folder}/own.pem", retry_seconds=0
            )
            with client, self.assertRaisesRegex(znni.UnavailableError, "with TLS"):  # the daemon has none
                client.models()


if __name__ == "__main__":
    unittest.main()
