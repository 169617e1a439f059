"""Counts events while deploy/soak runs: answers, faults, and refusals, by kind and by whether they were expected."""

import collections
import re
import threading

# (code, words of the message) of each kind, because one code may have several meanings.
REASONS = {
    "queue full": ("UNAVAILABLE", "is full"),
    "shutting down": ("UNAVAILABLE", "shutting down"),
    "not ready": ("UNAVAILABLE", "still loading|loaded again|is unavailable"),
    "no listener": ("UNAVAILABLE", "failed to connect|Connection refused"),
    "no memory": ("RESOURCE_EXHAUSTED", "of transport memory"),
}
ALWAYS = {"queue full"}  # there are more clients than places
# Refusals by a daemon that ends or has just begun. UNAVAILABLE: the connection broke.
WHILE_RESTARTED = {"shutting down", "not ready", "no listener", "UNAVAILABLE"}


def kind_of(code, message):
    """Returns the kind of a refusal: the name of a reason, else its code ("" if the answer has only a message)."""
    fitting = (name for name, (of, words) in REASONS.items() if code in ("", of) and re.search(words, message or ""))
    return next(fitting, code)


class Tally:
    """Counts of all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.right = 0
        self.faults = collections.Counter()
        self.expected = collections.Counter()
        self.unexpected = collections.Counter()
        self.wrong = []
        self.lost = []

    def note(self, counter, key):
        """Counts one more of `key`."""
        with self.lock:
            counter[key] += 1

    def answer(self, what, is_right):
        """Counts a complete answer. The report lists wrong ones."""
        with self.lock:
            if is_right:
                self.right += 1
            else:
                self.wrong.append(what)

    def refusal(self, what, code, message, fits=(), restarted=False):
        """Counts a call that ended with an error. `fits` holds the kinds that fit the action. An unexpected deadline
        counts as a lost request."""
        kind = kind_of(code, message)
        if kind in ALWAYS.union(fits, WHILE_RESTARTED if restarted else ()):
            self.note(self.expected, f"{what}: {kind}")
        elif kind == "DEADLINE_EXCEEDED":
            with self.lock:
                self.lost.append(what)
        else:
            self.note(self.unexpected, f"{what}: {kind}: {(message or '')[:120]}")

    def report(self):
        """Returns the counts for the report. Those after "refused, as expected" should be empty."""
        return {
            "right": self.right,
            "faults": dict(self.faults),
            "refused, as expected": dict(self.expected),
            "refused, not expected": dict(self.unexpected),
            "wrong": self.wrong,
            "lost": self.lost,
        }

    def is_good(self):
        """Returns True if nothing unexpected has happened."""
        return not (self.unexpected or self.wrong or self.lost)
