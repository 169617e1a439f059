"""Questions to a daemon."""

import unittest

import grpc
from fake_daemon import FakeDaemon
from znni import wire
from znni.calls.connection import Connection
from znni.errors import NotFoundError, UnavailableError, UnsupportedError


class ConnectionTest(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.address = self.enterContext(self.daemon.served())
        self.connection = Connection(self.address)
        self.addCleanup(self.connection.close)

    def test_model(self):
        model = self.connection.model("same")
        self.assertEqual((model.name, model.version, model.ready, model.field_of_view), ("same", "3", True, (1, 1, 1)))

    def test_models(self):
        self.assertEqual(self.connection.models(), {"same": "ready", "other": "LOADING plans"})

    def test_the_daemons_own_words(self):
        with self.assertRaises(NotFoundError) as caught:
            self.connection.model("none")
        self.assertEqual(
            (str(caught.exception), caught.exception.code), ("unknown model: 'none'", grpc.StatusCode.NOT_FOUND)
        )

    def test_outlook(self):
        with self.assertRaisesRegex(UnsupportedError, "^no outlook$"):
            self.connection.outlook(wire.VolumeHeader())

    def test_token(self):
        connection = Connection(self.address, token="secret")
        self.addCleanup(connection.close)
        connection.model("same")
        self.assertEqual(self.daemon.metadata[-1]["authorization"], "Bearer secret")

    def test_nothing_answers(self):
        connection = Connection("127.0.0.1:1")
        self.addCleanup(connection.close)
        with self.assertRaisesRegex(UnavailableError, r"^no answer from 127.0.0.1:1: .*\(is znnid running there\?\)$"):
            connection.models()

    def test_nothing_answers_with_tls(self):
        connection = Connection("127.0.0.1:1", grpc.ssl_channel_credentials())
        self.addCleanup(connection.close)
        with self.assertRaisesRegex(UnavailableError, r"\(is znnid running there, with TLS\? .* signed\?\)$"):
            connection.models()


if __name__ == "__main__":
    unittest.main()
