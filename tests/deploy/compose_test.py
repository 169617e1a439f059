"""compose.yaml and what it mounts. Usage: compose_test.py SOURCE-FOLDER."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing} (Debian packages of deploy/packages/image.txt)")
    sys.exit(0)

ROOT = pathlib.Path(sys.argv.pop()).resolve()
DOCKER = ROOT / "deploy/docker"


def read(name):
    """A YAML file of deploy/docker."""
    return yaml.safe_load((DOCKER / name).read_text())


class ComposeTest(unittest.TestCase):
    def test_every_file_that_is_mounted_is_there(self):
        for service in read("compose.yaml")["services"].values():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                self.assertTrue(not source.startswith(".") or (DOCKER / source).exists(), volume)

    def test_the_daemon_has_no_rights_and_time_to_end(self):
        znnid = read("compose.yaml")["services"]["znnid"]
        self.assertTrue(znnid["read_only"])
        self.assertEqual(znnid["cap_drop"], ["ALL"])
        self.assertGreater(int(znnid["stop_grace_period"].rstrip("s")), 30)
        self.assertTrue(all(port.startswith("127.0.0.1:") for port in znnid["ports"]))

    def test_every_image_but_ours_has_a_version(self):
        for name, service in read("compose.yaml")["services"].items():
            self.assertTrue(name == "znnid" or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), service["image"])

    def test_the_gpu_is_an_override(self):
        gpu = read("compose.gpu.yaml")["services"]["znnid"]
        devices, = gpu["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual(devices["capabilities"], ["gpu"])

    def test_compose_itself_understands_both(self):
        if shutil.which("docker-compose") is None:
            self.skipTest("no docker-compose")
        for files in (["compose.yaml"], ["compose.yaml", "compose.gpu.yaml"]):
            command = ["docker-compose", *(word for name in files for word in ("-f", str(DOCKER / name))), "config", "-q"]
            subprocess.run(command, check=True, timeout=60)


if __name__ == "__main__":
    unittest.main()
