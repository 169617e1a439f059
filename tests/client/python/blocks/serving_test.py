"""Daemons that compute blocks."""

import hashlib
import json
import os
from unittest import mock

import grpc
import numpy as np
from fake_daemon import FakeDaemon, Refused
from job_case import JobCase
from znni.blocks import serving as module
from znni.blocks.serving import Serving, digests_of, form_of
from znni.calls.connection import Connection
from znni.errors import Error, InvalidError, NotFoundError, UnavailableError
from znni.local.private_daemon import PrivateDaemon
from znni.stores.tensors import error_of


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

    def test_says_what_its_daemon_took_to_plan(self):
        self.play(f'echo "info listening on {self.address}" >&2', "exec sleep 600")
        self.daemon.loading = ["planning within 1 GiB for 0 s"]
        serving = self.serving(network=str(self.folder / "same.onnx"))
        self.assertEqual(serving.planning_seconds, 0.0)
        serving.client()
        self.assertGreater(serving.planning_seconds, 0.0)
        serving.stop()
        serving.client()
        self.assertEqual(serving.planning_seconds, 0.0)  # it had a plan

    def test_servers_are_taken_in_turns(self):
        other = FakeDaemon()
        serving = self.serving(servers=[self.address, self.enterContext(other.served())], turn=1)
        for asked in (other, self.daemon, other):
            before = len(asked.metadata)
            serving.client()
            self.assertEqual(len(asked.metadata), before + 1)
            error = Error("gone")
            self.assertIs(serving.drop(error), error)

    def test_a_server_that_is_back_is_used_again(self):
        now = self.enterContext(mock.patch.object(module.time, "monotonic", return_value=0.0))
        back = FakeDaemon(refusals=2)
        serving = self.serving(servers=[self.enterContext(back.served()), self.address])
        serving.drop(Error("gone"))
        serving.client()
        serving.client()
        self.assertEqual((serving.server, back.metadata), (self.address, []))  # it is not asked at once
        for asked, now.return_value in ((1, 60.0), (2, 180.0)):  # while it loads
            self.assertEqual(serving.client().model("same").name, "same")
            self.assertEqual((serving.server, len(back.metadata)), (self.address, asked))
        now.return_value = 420.0
        serving.client().model("same")
        self.assertEqual((serving.server, serving.has_moved), (serving._servers[0], False))
        self.assertGreater(len(back.metadata), 3)

    def test_a_server_that_is_back_is_waited_for_if_it_is_full(self):
        back = FakeDaemon([Refused(grpc.StatusCode.UNAVAILABLE, "the queue is full")])
        with mock.patch.object(module, "_AWAY_SECONDS", 0):
            serving = self.serving(servers=[self.enterContext(back.served()), self.address])
            serving.drop(Error("gone"))
            serving.client()
        volume = np.ones((2, 3, 4), np.float32)
        np.testing.assert_array_equal(serving.client().predict("same", volume, progress=False), volume)
        self.assertEqual((serving.has_moved, len(back.headers)), (False, 2))

    def test_a_server_that_answers_and_fails_each_block_is_asked_less_and_less(self):
        now = self.enterContext(mock.patch.object(module.time, "monotonic", return_value=0.0))
        sick = FakeDaemon()
        serving = self.serving(servers=[self.enterContext(sick.served()), self.address])
        failed_at = []
        for minute in range(600):
            now.return_value = 60.0 * minute
            serving.client()
            if not serving.has_moved:
                failed_at.append(minute)
                serving.drop(Error("failed"))
                serving.client()
        self.assertEqual(failed_at[:8], [0, 1, 3, 7, 15, 31, 63, 123])
        self.assertEqual(failed_at[8:], [123 + 60 * hour for hour in range(1, len(failed_at) - 7)])

    def test_a_server_that_is_back_with_other_weights_is_left_alone(self):
        back = FakeDaemon(properties={"fingerprint": "b"})
        self.daemon.properties = {"fingerprint": "a"}
        form = {"fingerprint": "a"}
        with mock.patch.object(module, "_AWAY_SECONDS", 0):
            serving = self.serving(servers=[self.enterContext(back.served()), self.address], form=form)
            for _ in range(2):
                self.assertEqual(serving.client().model("same").properties["fingerprint"], "a")
                self.assertEqual((serving.server, serving.facts.properties["fingerprint"]), (self.address, "a"))

    def test_a_daemon_that_ended_says_why_and_is_started_again(self):
        self.play(
            f'echo "info listening on {self.address}" >&2',
            f"test -e {self.folder}/again && exec sleep 600",
            f"touch {self.folder}/again",
            "sleep 1",
            'echo "error no memory" >&2',
            "exit 3",
        )
        serving = self.serving(network=str(self.folder / "same.onnx"), model="")
        serving.client()
        self.assertEqual(serving.model, "same")
        self.assertRegex(str(serving.drop(UnavailableError("no answer"))), "exit code 3: .*no memory")
        self.assertTrue((self.folder / "again").exists())
        serving.client().model("same")

    def test_its_own_daemon_plans_for_the_extent_of_blocks(self):
        listening = f'echo "info listening on {self.address}" >&2'
        self.play(f'echo "$@" >>{self.folder}/arguments', listening, "exec sleep 600")
        serving = self.serving(network=str(self.folder / "same.onnx"), model="", mem="1G")
        serving.client()
        first = serving.daemon_pid
        serving.plan_for((20, 30, 40))
        self.assertIsNone(serving.daemon_pid)
        serving.client()
        self.assertNotIn(serving.daemon_pid, (None, first))
        serving.stop()
        serving = self.serving(network=str(self.folder / "same.onnx"), model="", volume=(5, 6, 7))
        serving.client()
        before, behind, third = (self.folder / "arguments").read_text().splitlines()
        self.assertNotIn("--volume", before)
        self.assertIn("--mem 1G --volume 20,30,40", behind)
        self.assertIn("--volume 5,6,7", third)
        for line in (behind, third):
            self.assertNotIn("--volume-is-padded", line)  # a block is sent with its padding

    def test_a_ctrl_c_as_soon_as_its_daemon_has_started(self):
        self.play(f'echo "info listening on {self.address}" >&2', "exec sleep 600")
        enter, held = PrivateDaemon.__enter__, []

        def interrupted(daemon):
            enter(daemon)
            held.append(daemon.process)
            raise KeyboardInterrupt

        with mock.patch.object(PrivateDaemon, "__enter__", interrupted), self.assertRaises(KeyboardInterrupt):
            with self.serving(network=str(self.folder / "same.onnx"), model="") as serving:
                serving.client()
        self.assertIsNotNone(held[0].returncode)

    def test_needs_a_network_or_servers(self):
        for options in ({}, {"network": "n.onnx", "servers": ["a:1"]}):
            with self.assertRaisesRegex(InvalidError, "one of them is needed"):
                self.serving(**options)

    def test_a_server_that_is_gone_is_passed_over(self):
        self.enterContext(mock.patch.object(module, "_OTHERS_SECONDS", 0))
        for turn in range(3):
            serving = self.serving(servers=["127.0.0.1:1", self.address, "127.0.0.1:2"], turn=turn)
            self.assertEqual(serving.client().model("same").name, "same")
        with self.assertRaises(UnavailableError):
            self.serving(servers=["127.0.0.1:1", "127.0.0.1:2"]).client()

    def test_a_server_with_another_model_is_passed_over(self):
        form = form_of(Connection(self.address).model("same"))
        self.assertEqual(json.loads(json.dumps(form)), form)
        other = self.enterContext(FakeDaemon(properties={"field_of_view": "3,1,1"}).served())
        serving = self.serving(servers=[other, self.address], form=form)
        serving.client()
        self.assertEqual(serving.facts.field_of_view, (1, 1, 1))
        fault = r"model 'same': field_of_view \[3, 1, 1\] found, expected \[1, 1, 1\]"
        with self.assertRaisesRegex(InvalidError, fault):
            self.serving(servers=[other], form=form).client()

    def test_a_server_with_other_weights_is_refused(self):
        first, other = (self.enterContext(FakeDaemon(properties={"fingerprint": print}).served()) for print in "ab")
        form = form_of(Connection(first).model("same"))
        self.serving(servers=[first], form=form).client()
        with self.assertRaisesRegex(InvalidError, "model 'same': fingerprint b found, expected a: model or znnid are"):
            self.serving(servers=[other], form=form).client()

    def test_the_error_that_may_pass_is_told(self):
        """One of two servers is away, the other has another model."""
        self.enterContext(mock.patch.object(module, "_OTHERS_SECONDS", 0))
        for servers in (["127.0.0.1:1", self.address], [self.address, "127.0.0.1:1"]):
            with self.assertRaises(UnavailableError):
                self.serving(servers=servers, form={"channels": 7}).client()

    def test_whether_an_error_comes_again(self):
        one, two = self.serving(servers=["a:1"]), self.serving(servers=["a:1", "b:1"])
        for error, lasts in (
            (InvalidError("a NaN"), (True, True)),
            (NotFoundError("no model"), (True, False)),
            (error_of(ValueError("NOT_FOUND: no bucket"), "v"), (True, True)),
            (UnavailableError("gone"), (False, False)),
            (OSError("full"), (False, False)),
        ):
            self.assertEqual((one.is_lasting(error), two.is_lasting(error)), lasts)

    def test_digests(self):
        network, config = self.folder / "net/1/model.onnx", self.folder / "net/config.pbtxt"
        network.parent.mkdir(parents=True)
        network.write_bytes(b"x" * 3000000)
        of_network = hashlib.sha256(b"x" * 3000000).hexdigest()
        self.assertEqual(digests_of(str(network), None), {"network": of_network})
        config.write_bytes(b"scale")
        both = {"network": of_network, "config": hashlib.sha256(b"scale").hexdigest()}
        self.assertEqual(digests_of(str(network), None), both)
        self.assertEqual(digests_of(str(network), str(config)), both)
        caffe = network.rename(network.with_name("model.prototxt"))
        numbers = caffe.with_name("model.caffemodel")
        numbers.write_bytes(b"numbers")
        of_numbers = hashlib.sha256(b"numbers").hexdigest()
        self.assertEqual(digests_of(str(caffe), None), {**both, "numbers": of_numbers})
        numbers.unlink()
        network.write_bytes(b"")
        for files in ((str(self.folder / "none.onnx"), None), (str(caffe), None), (str(network), "none.pbtxt")):
            with self.assertRaises(NotFoundError):
                digests_of(*files)


if __name__ == "__main__":
    import unittest

    unittest.main()
