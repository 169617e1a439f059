"""What happened while deploy/soak ran: answers, faults, and refusals, by what they are and whether they fit."""

import collections
import re
import threading

# (code, words of the message): what one code may stand for.
REASONS = {
    "queue full": ("UNAVAILABLE", "is full"),
    "shutting down": ("UNAVAILABLE", "shutting down"),
    "not ready": ("UNAVAILABLE", "still loading|loaded anew|is unavailable"),
    "nobody listens": ("UNAVAILABLE", "failed to connect|Connection refused"),
    "no memory": ("RESOURCE_EXHAUSTED", "of transport memory"),
}
ALWAYS = {"queue full"}  # there are more clients than places
# Of a daemon that ends or has just begun; UNAVAILABLE: the connection broke.
WHILE_RESTARTED = {"shutting down", "not ready", "nobody listens", "UNAVAILABLE"}


def kind_of(code, message):
    """What a refusal is: the name of a reason, else its code, "" where the answer has a message alone."""
    fitting = (name for name, (of, words) in REASONS.items() if code in ("", of) and re.search(words, message or ""))
    return next(fitting, code)


class Tally:
    """Counted by all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.right = 0
        self.faults = collections.Counter()
        self.expected = collections.Counter()
        self.unexpected = collections.Counter()
        self.wrong = []
        self.lost = []

    def note(self, counter, key):
        """One more of `key`."""
        with self.lock:
            counter[key] += 1

    def answer(self, what, is_right):
        """An answer with every byte; one that is wrong is told in the report."""
        with self.lock:
            if is_right:
                self.right += 1
            else:
                self.wrong.append(what)

    def refusal(self, what, code, message, fits=(), restarted=False):
        """A call that ended with an error; `fits`: kinds that answer what was done. A deadline that nobody wanted is a
        request that was lost."""
        kind = kind_of(code, message)
        if kind in ALWAYS.union(fits, WHILE_RESTARTED if restarted else ()):
            self.note(self.expected, f"{what}: {kind}")
        elif kind == "DEADLINE_EXCEEDED":
            with self.lock:
                self.lost.append(what)
        else:
            self.note(self.unexpected, f"{what}: {kind}: {(message or '')[:120]}")

    def report(self):
        """As it stands in the report; all that is below "expected" should be empty."""
        return {"right": self.right, "faults": dict(self.faults), "refused, as expected": dict(self.expected),
                "refused, not expected": dict(self.unexpected), "wrong": self.wrong, "lost": self.lost}

    def is_good(self):
        """Nothing that must not happen has."""
        return not (self.unexpected or self.wrong or self.lost)
