"""The unit of systemd: sound, hardened, and started with options that znnid takes.
Usage: service_test.py DEPLOY-FOLDER."""

import configparser
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

UNIT = pathlib.Path(sys.argv.pop()) / "systemd/znnid.service"


class Unit(configparser.RawConfigParser):
    """A unit file: keys keep their letters, and may come more than once (the last one counts here)."""

    def __init__(self):
        super().__init__(strict=False)
        self.optionxform = str
        self.read_string(UNIT.read_text())


class ServiceTest(unittest.TestCase):
    def test_what_a_daemon_on_a_port_does_not_need_is_taken_away(self):
        service = Unit()["Service"]
        for key, value in {
            "DynamicUser": "yes",
            "NoNewPrivileges": "yes",
            "ProtectSystem": "strict",
            "CapabilityBoundingSet": "",
            "PrivateTmp": "yes",
            "RestrictNamespaces": "yes",
        }.items():
            self.assertEqual(service[key], value, key)

    def test_requests_may_end_before_the_daemon_is_killed(self):
        self.assertGreater(int(Unit()["Service"]["TimeoutStopSec"].rstrip("s")), 30)

    def test_it_is_started_anew_when_it_is_stuck(self):
        """znnid sends a sign of life each second."""
        service = Unit()["Service"]
        self.assertEqual((service["Type"], service["Restart"]), ("notify", "on-failure"))
        self.assertGreaterEqual(int(service["WatchdogSec"].rstrip("s")), 10)

    def test_descriptors_are_enough_for_all_connections_and_regions(self):
        """An eighth is for regions of shared memory, 1024 at most, and half for connections, 4096 at most."""
        self.assertGreaterEqual(int(Unit()["Service"]["LimitNOFILE"]), 8 * 1024)

    def test_systemd_understands_it(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, UNIT.name)
            copy.write_text(UNIT.read_text().replace("/usr/bin/znnid", "/bin/true"))
            done = subprocess.run(
                ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False
            )
        own = [line for line in done.stderr.splitlines() if UNIT.name in line]
        self.assertEqual(own, [])

    def test_systemd_calls_it_safe(self):
        """Exposure in tenths: 0 is none, 96 an ordinary service."""
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze")
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(UNIT)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)


if __name__ == "__main__":
    unittest.main()
