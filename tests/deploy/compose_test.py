"""compose.yaml and what it mounts: the files are there, Prometheus asks where znnid answers, the dashboard shows metrics
that znnid has. Usage: compose_test.py SOURCE-FOLDER."""

import json
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
# Of Prometheus itself, in queries.
WORDS = {"sum", "by", "rate", "max", "model", "state", "pool", "code", "instance", "job"}


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


class WatchingTest(unittest.TestCase):
    def test_prometheus_asks_where_znnid_answers(self):
        target, = read("prometheus.yaml")["scrape_configs"][0]["static_configs"][0]["targets"]
        name, port = target.split(":")
        self.assertIn(name, read("compose.yaml")["services"])
        self.assertIn(f"EXPOSE 8001 {port}", (DOCKER / "Dockerfile").read_text())
        self.assertIn("metrics-address=0.0.0.0", (DOCKER / "znnid.conf").read_text())

    def test_the_dashboard_shows_metrics_that_znnid_has(self):
        sources = "".join(path.read_text() for path in (ROOT / "server/metrics").glob("*.cpp"))
        known = set(re.findall(r'"((?:znni|process)_\w+)"', sources))
        queries = [target["expr"] for panel in self.dashboard()["panels"] for target in panel["targets"]]
        for query in queries:
            bare = re.sub(r'\[\w+\]|"[^"]*"', "", query)  # without times and values of labels
            for name in set(re.findall(r"\b[a-z_]+\b", bare)) - WORDS:
                self.assertIn(re.sub(r"_(sum|count|bucket)$", "", name), known, query)
        scaling = yaml.safe_load((ROOT / "deploy/k8s/base/scaling.yaml").read_text())
        self.assertIn(scaling["spec"]["metrics"][0]["pods"]["metric"]["name"], known)

    def test_the_dashboard_is_provisioned(self):
        uid = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"][0]["uid"]
        panels = self.dashboard()["panels"]
        self.assertEqual({panel["datasource"]["uid"] for panel in panels}, {uid})
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        folder = read("grafana/provisioning/dashboards/znni.yaml")["providers"][0]["options"]["path"]
        mounts = read("compose.yaml")["services"]["grafana"]["volumes"]
        self.assertIn(f"./grafana/dashboards:{folder}:ro", mounts)

    @staticmethod
    def dashboard():
        """The dashboard as Grafana reads it."""
        return json.loads((DOCKER / "grafana/dashboards/znni.json").read_text())


if __name__ == "__main__":
    unittest.main()
