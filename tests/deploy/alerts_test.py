"""The alerts of deploy/docker and deploy/k8s/monitoring: the same, about metrics that znnid has, each with a case of
alert_cases.yaml, which .ci/image runs with Prometheus' own promtool. Usage: alerts_test.py SOURCE-FOLDER."""

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
CASES = pathlib.Path(__file__).parent / "alert_cases.yaml"


def read(path):
    """Returns the contents of a YAML file."""
    return yaml.safe_load(path.read_text())


def alerts():
    """Returns every alert of deploy/docker."""
    return [rule for group in read(DOCKER / "alerts.yaml")["groups"] for rule in group["rules"]]


class AlertsTest(unittest.TestCase):
    def test_the_operator_gets_the_same(self):
        operator = read(ROOT / "deploy/k8s/monitoring/rules.yaml")
        self.assertEqual(operator["spec"], read(DOCKER / "alerts.yaml"))

    def test_prometheus_of_compose_reads_them(self):
        files = read(DOCKER / "prometheus.yaml")["rule_files"]
        mounts = read(DOCKER / "compose.yaml")["services"]["prometheus"]["volumes"]
        for file in files:
            self.assertIn(f"./{file}:/etc/prometheus/{file}:ro", mounts)

    def test_they_ask_for_metrics_that_znnid_has(self):
        asked = {name for rule in alerts() for name in re.findall(r"\b(?:znni|process)_\w+", rule["expr"])}
        self.assertGreater(len(asked), 8)
        self.assertLessEqual(asked, known_metrics(ROOT))

    def test_what_they_say_has_labels_that_their_query_keeps(self):
        for rule in alerts():
            said = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
            kept = re.search(r"\bsum by \(([^)]*)\)", rule["expr"])
            if kept:
                self.assertLessEqual(said, set(kept[1].split(", ")), rule["alert"])

    def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(self):
        fires, silent = set(), set()
        for case in (case for test in read(CASES)["tests"] for case in test["alert_rule_test"]):
            (fires if case["exp_alerts"] else silent).add(case["alertname"])
        names = {rule["alert"] for rule in alerts()}
        self.assertEqual(fires, names)
        self.assertEqual(silent, names)

    def test_the_cases_hold(self):
        if shutil.which("promtool") is None:
            self.skipTest("no promtool: .ci/image runs the cases")
        command = ["promtool", "test", "rules", CASES]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
