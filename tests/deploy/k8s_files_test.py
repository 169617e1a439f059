"""The files of deploy/k8s one by one, where there is no kubectl to put them together.
Usage: k8s_files_test.py SOURCE-FOLDER."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing} (Debian packages of deploy/packages/image.txt)")
    sys.exit(0)

import k8s_schema

ROOT = pathlib.Path(sys.argv.pop()).resolve()
K8S = ROOT / "deploy/k8s"


def faults(manifest):
    """Returns what Kubernetes would not know in a file. Fields and an image's tag may be missing."""
    validator = jsonschema.Draft7Validator(k8s_schema.schema_of(manifest["kind"]))
    return [
        f"{'.'.join(map(str, error.path))}: {error.message}"
        for error in validator.iter_errors(manifest)
        if error.validator != "required" and list(error.path)[-1:] != ["image"]
    ]


class FilesTest(unittest.TestCase):
    def test_yaml_is_in_good_form(self):
        if shutil.which("yamllint") is None:
            self.skipTest("no yamllint")
        rules = (
            "{extends: default, rules: "
            "{document-start: disable, line-length: {max: 120}, braces: {max-spaces-inside: 0}}}"
        )
        done = subprocess.run(
            ["yamllint", "--strict", "-d", rules, ROOT / "deploy/k8s", ROOT / "deploy/docker"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_file_is_part_of_something(self):
        for folder in {path.parent for path in K8S.rglob("*.yaml")}:
            listing = yaml.safe_load((folder / "kustomization.yaml").read_text())
            used = {*listing.get("resources", []), *(patch["path"] for patch in listing.get("patches", []))}
            files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
            self.assertEqual(files, {name for name in used if name.endswith(".yaml")}, folder)

    def test_a_pod_is_given_longer_than_the_daemon_takes_to_end(self):
        options = (K8S / "base/znnid.conf").read_text()
        lame_duck = int(re.search(r"^lame-duck-secs=(\d+)$", options, re.MULTILINE)[1])
        for file in ("base/deployment.yaml", "overlays/cpu/resources.yaml"):
            pod = yaml.safe_load((K8S / file).read_text())["spec"]["template"]["spec"]
            (timeout,) = (one["value"] for one in pod["containers"][0]["env"] if one["name"] == "ZNNI_EXIT_TIMEOUT")
            self.assertGreater(pod["terminationGracePeriodSeconds"], lame_duck + int(timeout), file)

    def test_a_pod_with_wrong_input_is_not_tried_again(self):
        """The policy needs pods that are never restarted, limits for each index, and the container's name."""
        found = (ROOT / "client/python/znni/programs/frame.py").read_text()
        codes = dict(zip(*(words.split(", ") for words in re.search(r"^(DONE, .*) = ([\d, ]+)", found, re.M).groups())))
        for file in ("job/job.yaml", "blocks/run/job.yaml"):
            spec = yaml.safe_load((K8S / file).read_text())["spec"]
            pod = spec["template"]["spec"]
            (container,) = pod["containers"]
            (rule,) = (rule for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule)
            self.assertEqual((rule["action"], pod["restartPolicy"]), ("FailIndex", "Never"), file)
            self.assertEqual(rule["onExitCodes"]["containerName"], container["name"], file)
            self.assertEqual((rule["onExitCodes"]["operator"], rule["onExitCodes"]["values"]), ("In", [2]), file)
            self.assertGreater(spec["backoffLimitPerIndex"], 0, file)
            self.assertNotIn("backoffLimit", spec, file)  # of all indices together
        self.assertEqual(codes["WRONG"], "2")

    def test_pods_compute_the_job_that_was_planned(self):
        plan = yaml.safe_load((K8S / "blocks/plan/pod.yaml").read_text())["spec"]
        job = yaml.safe_load((K8S / "blocks/run/job.yaml").read_text())["spec"]
        (planner,), (runner,) = plan["containers"], job["template"]["spec"]["containers"]
        options = dict(zip(planner["args"][1::2], planner["args"][2::2]))
        self.assertEqual((planner["args"][0], runner["args"]), ("plan", ["run", options["--output"]]))
        self.assertEqual(int(options["--nodes"]), job["completions"])
        self.assertEqual(options["--threads"], planner["resources"]["requests"]["cpu"])
        program = (ROOT / "client/python/znni/programs/job.py").read_text()
        for option in options:
            self.assertIn(f'"{option}"', program)
        for name in ("command", "resources", "securityContext", "volumeMounts"):
            self.assertEqual(planner[name], runner[name], name)
        self.assertEqual(plan["volumes"], job["template"]["spec"]["volumes"])

    def test_every_field_is_one_that_kubernetes_has(self):
        manifests = [path for path in K8S.rglob("*.yaml") if path.name != "kustomization.yaml"]
        self.assertGreater(len(manifests), 5)
        for path in manifests:
            self.assertEqual(faults(yaml.safe_load(path.read_text())), [], path)

    def test_a_policy_of_another_form_is_found(self):
        manifest = yaml.safe_load((K8S / "blocks/run/job.yaml").read_text())
        rules = manifest["spec"]["podFailurePolicy"]["rules"]
        rules[1]["onExitCodes"]["values"] = [0]  # which is no failure
        self.assertEqual(len(faults(manifest)), 1)
        rules[1]["onExitCodes"]["values"] = [2]
        self.assertEqual(faults(manifest), [])
        rules[0]["onExitCodes"] = rules[1]["onExitCodes"]  # a rule has one of the two
        self.assertEqual(len(faults(manifest)), 1)

    def test_a_misspelt_field_is_found(self):
        manifest = yaml.safe_load((K8S / "overlays/cpu/resources.yaml").read_text())
        manifest["spec"]["template"]["spec"]["terminationGracePeriod"] = 45
        (fault,) = faults(manifest)
        self.assertIn("spec.template.spec: Additional properties are not allowed", fault)


if __name__ == "__main__":
    unittest.main()
