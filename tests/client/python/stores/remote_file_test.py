"""Files in buckets and on web servers, read part by part."""

import io
import os
import random
import unittest
from unittest import mock

from store_case import StoreCase
from znni.errors import AccessError, InvalidError, NotFoundError, UnavailableError
from znni.stores import remote_file
from znni.stores.remote_file import RemoteFile, first_missing

DATA = random.Random(1).randbytes(1000)


class FirstMissingTest(unittest.TestCase):
    def test_numbers(self):
        numbers = random.Random(2)
        for bits in range(47):
            for length in {0, 1, (1 << bits) - 1, 1 << bits, numbers.randrange(1 << bits, 2 << bits)}:
                rounds = []

                def are_there(asked, length=length, rounds=rounds):
                    rounds.append(len(asked))
                    return [at < length for at in asked]

                self.assertEqual(first_missing(are_there), min(length, 1 << 47))
                self.assertLessEqual(len(rounds), 12)
                self.assertLessEqual(max(rounds), 70)


class RemoteFileTest(StoreCase):
    def setUp(self):
        super().setUp()
        for name, value in (("_BLOCK", 64), ("_KEPT", 3), ("_TOGETHER", 2), ("_AHEAD", 1), ("_PATIENCE_SECONDS", 0)):
            self.enterContext(mock.patch.object(remote_file, name, value))

    def files(self, name, data):
        """Yields the addresses of a file in a bucket and on a web server."""
        self.objects[name] = data
        (self.folder / name).write_bytes(data)
        yield f"s3://data/{name}"
        with self.served() as address:
            yield f"{address}/{name}"

    def test_bytes_are_those_of_the_file(self):
        choices = random.Random(3)
        for length in (0, 1, 63, 64, 65, 1000):
            for path in self.files(f"v{length}", DATA[:length]):
                expected, found = io.BytesIO(DATA[:length]), RemoteFile(path)
                self.assertEqual(found.length, length)
                for _ in range(40):
                    at, whence = choices.randrange(length + 9), choices.choice([os.SEEK_SET, os.SEEK_END])
                    at = at - length if whence == os.SEEK_END else at
                    self.assertEqual(found.seek(at, whence), expected.seek(max(at, -length), whence))
                    count = choices.choice([0, 1, 10, 100, 2000])
                    self.assertEqual(found.read(count), expected.read(count))
                    self.assertEqual(found.tell(), expected.tell())
                self.assertEqual(
                    (found.head(70), found.ends_before(length), found.ends_before(length + 1)),
                    (DATA[:length][:70], False, True),
                )

    def test_ranges(self):
        for path in self.files("v", DATA):
            found = RemoteFile(path).read_ranges([(at, at + 9) for at in range(0, 999, 3)])
            self.assertEqual(found[:330], [DATA[at : at + 9] for at in range(0, 990, 3)])
            self.assertIsNone(found[-1])

    def test_blocks_are_read_once(self):
        """And one ahead, where they are read one after the other."""
        self.objects["v"] = DATA
        found = RemoteFile("s3://data/v")
        self.assertEqual(found.length, 1000)
        self.s3.asked.clear()
        with io.BufferedReader(found, 16) as stream:
            self.assertEqual(stream.read(100), DATA[:100])
            self.assertEqual(len(self.s3.asked), 2)
            self.assertEqual(stream.read(100), DATA[100:200])
            self.assertEqual(len(self.s3.asked), 4)
            stream.seek(130)
            self.assertEqual(stream.read(70), DATA[130:200])
            self.assertEqual(len(self.s3.asked), 4)

    def test_a_web_server_that_knows_no_ranges(self):
        (self.folder / "v").write_bytes(DATA)
        with self.served(ranges=False) as address:
            with self.assertRaisesRegex(InvalidError, f"^{address}/v: the whole file found, .* knows no ranges, copy"):
                RemoteFile(f"{address}/v")

    def test_what_is_not_there(self):
        with self.served() as address:
            for path, kind, words in (
                (f"{address}/none", NotFoundError, "404"),
                (f"{address}/forbidden/v", AccessError, "403"),
                ("s3://data/none", NotFoundError, "there is no such file"),
                ("s3://none/v", NotFoundError, "there is no such file"),
                ("http://127.0.0.1:1/v", UnavailableError, "refused"),
                ("s3://data/v?x", InvalidError, "expected s3://BUCKET/PATH"),
                ("s3://data/a/../v", InvalidError, "expected one without"),
            ):
                with self.assertRaisesRegex(kind, f"^{path.replace('?', '.')}.*{words}"):
                    RemoteFile(path).head(5)

    def test_a_busy_server_is_asked_again(self):
        (self.folder / "v").write_bytes(DATA)
        with self.served(broken=2) as address, mock.patch.object(remote_file, "_PATIENCE_SECONDS", 60):
            with self.assertLogs("znni", "WARNING"):
                self.assertEqual(RemoteFile(f"{address}/v").read(9), DATA[:9])

    def test_errors_are_those_of_the_store(self):
        (self.folder / "v").write_bytes(DATA)
        with self.served() as address, self.assertRaises(NotFoundError) as missing:
            RemoteFile(f"{address}/w")
        with self.assertRaises(UnavailableError) as away:
            RemoteFile(f"{address}/v")
        self.assertTrue(missing.exception.is_of_store and away.exception.is_of_store)

    def test_a_wrong_port(self):
        with self.assertRaisesRegex(InvalidError, "^http://127.0.0.1:abc/v: .*port"):
            RemoteFile("http://127.0.0.1:abc/v")

    def test_a_file_that_becomes_shorter(self):
        self.objects["v"] = DATA
        found = RemoteFile("s3://data/v")
        self.assertEqual(found.length, 1000)
        self.objects["v"] = DATA[:500]
        with self.assertRaisesRegex(InvalidError, "^s3://data/v: became shorter while it was read"):
            found.read(600)


if __name__ == "__main__":
    unittest.main()
