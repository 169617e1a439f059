"""The events that deploy/soak counts as failures. Usage: soak_tally_test.py LIB-FOLDER."""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import soak_tally

FULL = ("UNAVAILABLE", "model 'net': the queue of model 'net' is full: 3 jobs wait, at most 3 may; try again later")
ENDING = ("UNAVAILABLE", "the server is shutting down; try another one")
LOADING = ("UNAVAILABLE", "model 'net' is still loading")
NO_LISTENER = ("UNAVAILABLE", "failed to connect to all addresses")
BROKEN = ("UNAVAILABLE", "Socket closed")
MEMORY = ("RESOURCE_EXHAUSTED", "model 'net': the request needs 1.00 MiB of transport memory; 2 B of 3 B are free")
TOO_LARGE = ("RESOURCE_EXHAUSTED", "Received message larger than max (2 vs. 1)")


class KindTest(unittest.TestCase):
    def test_one_code_has_several_reasons(self):
        self.assertEqual(
            [soak_tally.kind_of(*error) for error in (FULL, ENDING, LOADING, NO_LISTENER, MEMORY, TOO_LARGE)],
            ["queue full", "shutting down", "not ready", "no listener", "no memory", "RESOURCE_EXHAUSTED"],
        )

    def test_words_count_with_their_code_only(self):
        self.assertEqual(soak_tally.kind_of("INVALID_ARGUMENT", "input 'it is full' is unknown"), "INVALID_ARGUMENT")
        self.assertEqual(soak_tally.kind_of("INTERNAL", None), "INTERNAL")

    def test_answers_within_a_stream_have_a_message_alone(self):
        self.assertEqual(soak_tally.kind_of("", FULL[1]), "queue full")
        self.assertEqual(soak_tally.kind_of("", "a client that said nothing"), "")


class TallyTest(unittest.TestCase):
    def setUp(self):
        self.tally = soak_tally.Tally()

    def test_a_full_queue_always_fits(self):
        self.tally.refusal("infer", *FULL)
        self.assertEqual(self.tally.expected, {"infer: queue full": 1})
        self.assertTrue(self.tally.is_good())

    def test_memory_that_is_not_there_is_a_failure(self):
        self.tally.refusal("infer", *MEMORY)
        self.assertFalse(self.tally.is_good())
        self.assertIn("of transport memory", str(self.tally.report()["refused, not expected"]))

    def test_a_daemon_that_is_gone_fits_while_it_is_restarted_only(self):
        for error in (ENDING, LOADING, NO_LISTENER, BROKEN):
            self.tally.refusal("stream", *error, restarted=True)
        self.assertTrue(self.tally.is_good())
        self.assertEqual(self.tally.expected["stream: UNAVAILABLE"], 1)
        self.tally.refusal("stream", *ENDING)
        self.assertFalse(self.tally.is_good())

    def test_hostile_input_is_refused_as_such(self):
        self.tally.refusal("malformed", "INVALID_ARGUMENT", "no message", fits={"INVALID_ARGUMENT"})
        self.assertTrue(self.tally.is_good())
        self.tally.refusal("malformed", "INTERNAL", "", fits={"INVALID_ARGUMENT"})
        self.assertFalse(self.tally.is_good())

    def test_a_deadline_is_lost_where_nobody_wanted_one(self):
        self.tally.refusal("short deadline", "DEADLINE_EXCEEDED", "", fits={"DEADLINE_EXCEEDED"})
        self.assertTrue(self.tally.is_good())
        self.tally.refusal("infer", "DEADLINE_EXCEEDED", "")
        self.assertEqual(self.tally.lost, ["infer"])
        self.assertFalse(self.tally.is_good())

    def test_a_wrong_answer_is_a_failure(self):
        self.tally.answer("infer, volume 3", True)
        self.assertEqual(self.tally.report()["right"], 1)
        self.assertTrue(self.tally.is_good())
        self.tally.answer("infer, volume 3", False)
        self.assertEqual(self.tally.report()["wrong"], ["infer, volume 3"])
        self.assertFalse(self.tally.is_good())


if __name__ == "__main__":
    unittest.main()
