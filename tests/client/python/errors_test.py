"""Statuses of gRPC become errors of one line."""

import unittest

import grpc
import znni
from znni.errors import from_rpc


class Status(grpc.RpcError):
    """A call that ended."""

    def __init__(self, code, details, marked=True):
        self._code, self._details, self._marked = code, details, marked

    def code(self):
        return self._code

    def details(self):
        return self._details

    def trailing_metadata(self):
        return [("answered-by", "znnid")] if self._marked else []


class ErrorsTest(unittest.TestCase):
    def test_kinds(self):
        code = grpc.StatusCode
        for status, kind in (
            (code.INVALID_ARGUMENT, znni.InvalidError),
            (code.NOT_FOUND, znni.NotFoundError),
            (code.UNAVAILABLE, znni.UnavailableError),
            (code.RESOURCE_EXHAUSTED, znni.OverBudgetError),
            (code.UNIMPLEMENTED, znni.UnsupportedError),
            (code.PERMISSION_DENIED, znni.AccessError),
            (code.FAILED_PRECONDITION, znni.ReplacedError),
            (code.INTERNAL, znni.Error),
        ):
            error = from_rpc(Status(status, "words"), "host:1")
            self.assertIs(type(error), kind)
            self.assertEqual((error.code, str(error)), (status, "words"))

    def test_python_kinds(self):
        self.assertTrue(issubclass(znni.InvalidError, ValueError))
        self.assertTrue(issubclass(znni.NotFoundError, LookupError))

    def test_one_line(self):
        self.assertEqual(str(from_rpc(Status(grpc.StatusCode.INTERNAL, "two\nlines"), "")), "two lines")
        self.assertEqual(str(from_rpc(Status(grpc.StatusCode.INTERNAL, ""), "")), "INTERNAL")

    def test_nothing_answers(self):
        error = from_rpc(Status(grpc.StatusCode.UNAVAILABLE, "refused", marked=False), "host:1")
        self.assertEqual(str(error), "no answer from host:1: refused (is znnid running there?)")
        error = from_rpc(Status(grpc.StatusCode.UNAVAILABLE, "closed", marked=False), "host:1", tls=True)
        self.assertEqual(
            str(error),
            "no answer from host:1: closed (is znnid running there, with TLS? does it ask for "
            "a client certificate that its --grpc-root-cert signed?)",
        )


if __name__ == "__main__":
    unittest.main()
