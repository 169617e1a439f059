"""Calls that go on to another server."""

import logging
import unittest

import grpc
from fake_daemon import FakeDaemon
from znni.calls.patience import Patience
from znni.calls.route import Route, identity_of
from znni.calls.servers import Servers
from znni.errors import NotFoundError, UnavailableError

NOBODY = "127.0.0.1:1"
GONE = UnavailableError("gone")


class RouteTest(unittest.TestCase):
    def setUp(self):
        log = logging.getLogger("znni")
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.ERROR)
        self.tries = 0

    def sleep(self, _):
        self.tries += 1

    def route(self, *daemons, seconds=1000):
        """Returns the route of a call to these daemons, or addresses."""
        addresses = [one if isinstance(one, str) else self.enterContext(one.served()) for one in daemons]
        self.servers = Servers(addresses)
        self.addCleanup(self.servers.close)
        self.addresses = addresses
        return self.enterContext(Route(self.servers, lambda: Patience(seconds, sleep=self.sleep)))

    def bound(self, *daemons, seconds=1000):
        """Returns a route that is bound to the model of the first."""
        route = self.route(*daemons, seconds=seconds)
        route.bind(route.connection.model("same"))
        return route

    def at(self, route):
        """Returns the number of the server in use."""
        return self.addresses.index(route.connection.address)

    def test_questions_go_on_without_a_wait(self):
        route = self.route(NOBODY, "127.0.0.1:2", FakeDaemon())
        self.assertEqual(route.ask(lambda daemon: daemon.model("same")).name, "same")
        self.assertEqual((self.at(route), self.tries), (2, 0))
        self.assertEqual(self.servers.take().address, self.addresses[2], "the others did not answer")

    def test_waits_once_all_have_failed(self):
        route = self.route(FakeDaemon(refusals=2), FakeDaemon(refusals=3))
        route.ask(lambda daemon: daemon.model("same"))
        self.assertEqual((self.at(route), self.tries), (0, 2))
        with self.assertRaisesRegex(UnavailableError, "^no answer from 127.0.0.1:2: "):
            self.route(NOBODY, "127.0.0.1:2", seconds=0).ask(lambda daemon: daemon.models())

    def test_a_deadline_is_a_wait(self):
        def late(daemon):
            asked.append(daemon.address)
            raise UnavailableError("late", grpc.StatusCode.DEADLINE_EXCEEDED)

        asked = []
        with self.assertRaisesRegex(UnavailableError, "^late$"):
            self.route("a:1", "b:1").ask(late)
        self.assertEqual((asked, self.tries), (["a:1", "b:1"], 0))

    def test_other_errors_are_raised(self):
        with self.assertRaises(NotFoundError):
            self.route(FakeDaemon(), FakeDaemon()).ask(lambda daemon: daemon.model("x"))

    def test_on_to_the_same_model(self):
        same = {"fingerprint": "1"}
        route = self.bound(FakeDaemon(properties=same), FakeDaemon(properties=same))
        with self.assertLogs("znni", "WARNING") as logs:
            route.go_on(GONE, route.patience())
        self.assertEqual([record.getMessage() for record in logs.records], [f"going on at {self.addresses[1]}: gone"])
        self.assertEqual((self.at(route), self.tries), (1, 0))
        route.go_on(GONE, route.patience())
        self.assertEqual((self.at(route), self.tries), (0, 1))

    def test_not_to_other_models(self):
        others = (
            (FakeDaemon(properties={"fingerprint": "2"}), "serves another network, weights or configuration"),
            (FakeDaemon(properties={"fingerprint": "1", "field_of_view": "3,3,3"}), "serves another network"),
            (FakeDaemon(), "serves another network"),
        )
        for other, words in others:
            route = self.bound(FakeDaemon(properties={"fingerprint": "1"}), other)
            route.go_on(GONE, route.patience())
            self.assertEqual(self.at(route), 0)
            with self.assertRaisesRegex(UnavailableError, f"^gone; no other server goes on: 127.*: {words}"):
                route.go_on(GONE, Patience(0))

    def test_over_a_server_that_is_gone_to_the_next(self):
        route = self.bound(FakeDaemon(), NOBODY, FakeDaemon())
        route.go_on(GONE, route.patience())
        self.assertEqual((self.at(route), self.tries), (2, 0))

    def test_not_to_one_without_the_model(self):
        class Other(FakeDaemon):
            def _model(self, request, context):
                self._end(context, grpc.StatusCode.NOT_FOUND, "unknown model: 'same'")

        route = self.bound(FakeDaemon(), Other())
        with self.assertRaisesRegex(UnavailableError, "^gone; no other server .*: unknown model: 'same'"):
            route.go_on(GONE, Patience(0))

    def test_rejected(self):
        route = self.bound(FakeDaemon(), FakeDaemon())
        self.assertFalse(route.reject("has another plan"), "the call is bound to it")
        route.go_on(GONE, route.patience())
        self.assertTrue(route.reject("has another plan"))
        with self.assertRaisesRegex(UnavailableError, "^gone; no other server goes on: 127.*: has another plan$"):
            route.go_on(GONE, Patience(0))

    def test_calls_are_counted_as_long_as_they_last(self):
        servers = Servers(["a:1", "b:1"])
        self.addCleanup(servers.close)

        def route():
            return Route(servers, lambda: Patience(0))

        with route() as first, route() as second, route() as third:
            found = [each.connection.address for each in (first, second, third)]
        self.assertEqual(found, ["a:1", "b:1", "a:1"])
        with route() as again:
            self.assertEqual(again.connection.address, "a:1")

    def test_identity(self):
        def of(**properties):
            return identity_of(self.route(FakeDaemon(properties=properties)).connection.model("same"))

        self.assertEqual(of(plan="fast"), of(plan="slow"))
        self.assertNotEqual(of(fingerprint="1"), of(fingerprint="2"))


if __name__ == "__main__":
    unittest.main()
