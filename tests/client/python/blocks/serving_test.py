"""Daemons that compute blocks."""

import hashlib
import os
from unittest import mock

from znni.blocks.serving import Serving, digest_of
from znni.errors import Error, InvalidError, NotFoundError, UnavailableError

from fake_daemon import FakeDaemon
from job_case import JobCase


class ServingTest(JobCase):
    def serving(self, **options):
        usual = {"network": "", "mem": None, "threads": None, "config": None, "model": "same", "servers": []}
        return self.enterContext(Serving(**{**usual, **options}))

    def play(self, *lines):
        """Makes znnid a script."""
        path = self.folder / "znnid"
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)
        (self.folder / "same.onnx").touch()
        self.enterContext(mock.patch.dict(os.environ, {"ZNNID": str(path)}))

    def test_servers_are_taken_in_turns(self):
        other = FakeDaemon()
        serving = self.serving(servers=[self.address, self.enterContext(other.served())], turn=1)
        for asked in (other, self.daemon, other):
            before = len(asked.metadata)
            serving.client().model("same")
            self.assertEqual(len(asked.metadata), before + 1)
            error = Error("gone")
            self.assertIs(serving.drop(error), error)

    def test_a_daemon_that_ended_says_why_and_is_started_again(self):
        self.play(f'echo "info listening on {self.address}" >&2', f"test -e {self.folder}/again && exec sleep 600",
                  f"touch {self.folder}/again", "sleep 1", 'echo "error no memory" >&2', "exit 3")
        serving = self.serving(network=str(self.folder / "same.onnx"), model="")
        serving.client()
        self.assertEqual(serving.model, "same")
        self.assertRegex(str(serving.drop(UnavailableError("no answer"))), "exit code 3: .*no memory")
        self.assertTrue((self.folder / "again").exists())
        serving.client().model("same")

    def test_needs_a_network_or_servers(self):
        for options in ({}, {"network": "n.onnx", "servers": ["a:1"]}):
            with self.assertRaisesRegex(InvalidError, "one of them is needed"):
                self.serving(**options)

    def test_digest(self):
        (self.folder / "n.onnx").write_bytes(b"x" * 3000000)
        self.assertEqual(digest_of(self.folder / "n.onnx"), hashlib.sha256(b"x" * 3000000).hexdigest())
        self.assertRaises(NotFoundError, digest_of, self.folder / "none.onnx")


if __name__ == "__main__":
    import unittest
    unittest.main()
