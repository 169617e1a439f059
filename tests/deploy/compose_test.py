"""compose.yaml and what it mounts: the files are there, Prometheus asks where znnid answers, the dashboard shows
metrics that znnid has. Usage: compose_test.py SOURCE-FOLDER."""

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

from known_metrics import known_metrics

ROOT = pathlib.Path(sys.argv.pop()).resolve()
DOCKER = ROOT / "deploy/docker"
# Words of Prometheus itself, in queries.
WORDS = {
    "sum",
    "by",
    "rate",
    "max",
    "histogram_quantile",
    "model",
    "state",
    "pool",
    "code",
    "instance",
    "job",
    "place",
    "reason",
    "stage",
    "le",
}
# Metrics of a daemon, not of one of its models.
WITHOUT_MODEL = {
    "znni_memory_budget_bytes",
    "znni_memory_used_bytes",
    "znni_seconds_without_progress",
    "znni_refusals_total",
    "znni_connections",
    "znni_connections_limit",
    "process_resident_memory_bytes",
}


def read(name):
    """Returns the contents of a YAML file of deploy/docker."""
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
        (devices,) = gpu["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual(devices["capabilities"], ["gpu"])

    def test_compose_itself_understands_both(self):
        if shutil.which("docker-compose") is None:
            self.skipTest("no docker-compose")
        for files in (["compose.yaml"], ["compose.yaml", "compose.gpu.yaml"]):
            command = [
                "docker-compose",
                *(word for name in files for word in ("-f", str(DOCKER / name))),
                "config",
                "-q",
            ]
            subprocess.run(command, check=True, timeout=60)


class WatchingTest(unittest.TestCase):
    def test_prometheus_asks_where_znnid_answers(self):
        (target,) = read("prometheus.yaml")["scrape_configs"][0]["static_configs"][0]["targets"]
        name, port = target.split(":")
        self.assertIn(name, read("compose.yaml")["services"])
        self.assertIn(f"EXPOSE 8001 {port}", (DOCKER / "Dockerfile").read_text())
        self.assertIn("metrics-address=0.0.0.0", (DOCKER / "znnid.conf").read_text())

    def test_the_dashboard_shows_metrics_that_znnid_has(self):
        known = known_metrics(ROOT)
        queries = [target["expr"] for panel in self.dashboard()["panels"] for target in panel["targets"]]
        for query in queries:
            bare = re.sub(r'\[\w+\]|"[^"]*"', "", query)  # without times and values of labels
            for name in set(re.findall(r"\b[a-z_]+\b", bare)) - WORDS:
                self.assertIn(re.sub(r"_(sum|count|bucket)$", "", name), known, query)
        scaling = yaml.safe_load((ROOT / "deploy/k8s/base/scaling.yaml").read_text())
        self.assertIn(scaling["spec"]["metrics"][0]["pods"]["metric"]["name"], known)

    def test_the_dashboard_shows_the_daemons_and_models_that_are_chosen(self):
        variables = {one["name"]: one for one in self.dashboard()["templating"]["list"]}
        self.assertEqual(set(variables), {"instance", "model"})
        for variable in variables.values():
            self.assertTrue(variable["includeAll"] and variable["multi"], variable["name"])
            self.assertEqual(variable["allValue"], ".*")  # with what stands for all, a metric may lack the label
        for target in (target for panel in self.dashboard()["panels"] for target in panel["targets"]):
            for name, labels in re.findall(r"\b((?:znni|process)_\w+)(\{[^}]*\})?", target["expr"]):
                self.assertIn('instance=~"$instance"', labels, target["expr"])
                self.assertEqual('model=~"$model"' in labels, name not in WITHOUT_MODEL, target["expr"])

    def test_the_dashboard_is_provisioned(self):
        folder = read("grafana/provisioning/dashboards/znni.yaml")["providers"][0]["options"]["path"]
        mounts = read("compose.yaml")["services"]["grafana"]["volumes"]
        self.assertIn(f"./grafana/dashboards:{folder}:ro", mounts)

    def test_the_dashboard_is_one_of_the_grafana_that_shows_it(self):
        """This holds as far as can be known without Grafana: 39 is the schema of 11.0, and later ones migrate what
        is older."""
        dashboard = self.dashboard()
        self.assertTrue(dashboard["uid"] and dashboard["title"])
        self.assertLessEqual(dashboard["schemaVersion"], 39)
        self.assertRegex(read("compose.yaml")["services"]["grafana"]["image"], r":12\.")
        panels = dashboard["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [
            (x, y)
            for at in (panel["gridPos"] for panel in panels)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ]
        self.assertEqual(len(set(places)), len(places), "panels overlap")
        self.assertLess(max(x for x, _ in places), 24)

    def test_every_query_of_the_dashboard_goes_to_the_source_that_is_there(self):
        (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
        for panel in self.dashboard()["panels"]:
            self.assertEqual(
                len({target["refId"] for target in panel["targets"]}), len(panel["targets"]), panel["title"]
            )
            for target in panel["targets"]:
                own = target.get("datasource", panel["datasource"])
                self.assertEqual((own["uid"], own["type"]), (source["uid"], source["type"]), panel["title"])

    def test_legends_name_labels_that_are_left(self):
        for target in (target for panel in self.dashboard()["panels"] for target in panel["targets"]):
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            kept = re.search(r"\bby \(([^)]*)\)", target["expr"])
            if kept or target["expr"].startswith("sum("):
                self.assertLessEqual(shown, set(kept[1].split(", ")) if kept else set(), target["expr"])

    def test_the_dashboard_shows_what_is_promised(self):
        queries = " ".join(target["expr"] for panel in self.dashboard()["panels"] for target in panel["targets"])
        for name in (
            "znni_output_voxels_total",
            "state) (znni_jobs",
            "znni_memory_budget_bytes",
            "znni_pipeline_idle_seconds_total",
        ):
            self.assertIn(name, queries)

    @staticmethod
    def dashboard():
        """Returns the dashboard as Grafana reads it."""
        return json.loads((DOCKER / "grafana/dashboards/znni.json").read_text())


if __name__ == "__main__":
    unittest.main()
