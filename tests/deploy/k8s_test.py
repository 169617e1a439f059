"""The manifests of deploy/k8s, put together as kubectl does and checked without a cluster.
Usage: k8s_test.py SOURCE-FOLDER PLANNER."""

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

if shutil.which("kubectl") is None:
    print("SKIPPED: no kubectl: what is put together was not checked, only file by file (deploy.k8s_files)")
    sys.exit(0)

PLANNER, ROOT = sys.argv.pop(), pathlib.Path(sys.argv.pop()).resolve()
K8S = ROOT / "deploy/k8s"
BUILT = ("overlays/cpu", "overlays/gpu", "job", "models", "monitoring", "blocks/plan", "blocks/run")


def run(*command):
    """Returns the standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def manifests(folder):
    """Returns {(kind, name): manifest} as kubectl would apply them."""
    whole = yaml.safe_load_all(run("kubectl", "kustomize", K8S / folder))
    return {(one["kind"], one["metadata"]["name"]): one for one in whole}


def pod_of(manifest):
    """Returns the specification of a Pod, or of the pods of a Deployment or a Job."""
    return manifest["spec"].get("template", manifest)["spec"]


def container_of(manifest):
    """Returns the one container of a Deployment, a Job or a Pod."""
    (container,) = pod_of(manifest)["containers"]
    return container


class KustomizeTest(unittest.TestCase):
    def test_every_field_is_one_that_kubernetes_has(self):
        for folder in BUILT:
            for (kind, name), manifest in manifests(folder).items():
                with self.subTest(f"{folder}: {kind} {name}"):
                    jsonschema.validate(manifest, k8s_schema.schema_of(kind))

    def test_the_schema_finds_a_misspelt_field(self):
        deployment = manifests("overlays/cpu")["Deployment", "znnid"]
        container_of(deployment)["redinessProbe"] = {}
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(deployment, k8s_schema.schema_of("Deployment"))

    def test_selectors_find_the_pods(self):
        for folder in ("overlays/cpu", "overlays/gpu"):
            all_of_them = manifests(folder)
            spec = all_of_them["Deployment", "znnid"]["spec"]
            labels = spec["template"]["metadata"]["labels"]
            for selector in (
                spec["selector"]["matchLabels"],
                all_of_them["Service", "znnid"]["spec"]["selector"],
                all_of_them["PodDisruptionBudget", "znnid"]["spec"]["selector"]["matchLabels"],
                all_of_them["NetworkPolicy", "znnid"]["spec"]["podSelector"]["matchLabels"],
            ):
                self.assertTrue(selector and selector.items() <= labels.items(), selector)

    def test_the_operator_finds_the_service_and_its_metrics(self):
        service = manifests("overlays/cpu")["Service", "znnid"]
        monitor = manifests("monitoring")["ServiceMonitor", "znnid"]["spec"]
        labels = service["metadata"]["labels"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), labels.items())
        self.assertEqual(labels[monitor["jobLabel"]], "znnid")
        ports = {port["name"] for port in service["spec"]["ports"]}
        self.assertLessEqual({endpoint["port"] for endpoint in monitor["endpoints"]}, ports)

    def test_names_of_ports_and_volumes_meet(self):
        all_of_them = manifests("overlays/cpu")
        pod = all_of_them["Deployment", "znnid"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        ports = {port["name"] for port in container["ports"]}
        for port in all_of_them["Service", "znnid"]["spec"]["ports"]:
            self.assertIn(port["targetPort"], ports)
        self.assertEqual(
            {mount["name"] for mount in container["volumeMounts"]}, {volume["name"] for volume in pod["volumes"]}
        )
        claims = {name for kind, name in all_of_them if kind == "PersistentVolumeClaim"}
        maps = {name for kind, name in all_of_them if kind == "ConfigMap"}
        for volume in pod["volumes"]:
            self.assertIn(volume.get("persistentVolumeClaim", {}).get("claimName"), {None, *claims})
            self.assertIn(volume.get("configMap", {}).get("name"), {None, *maps})

    def test_pods_have_no_rights(self):
        for folder in BUILT:
            for (kind, name), manifest in manifests(folder).items():
                if kind not in ("Deployment", "Job", "Pod"):
                    continue
                pod, own = pod_of(manifest), container_of(manifest)["securityContext"]
                self.assertTrue(pod["securityContext"]["runAsNonRoot"], (folder, name))
                self.assertFalse(pod["automountServiceAccountToken"], (folder, name))
                self.assertEqual(
                    own,
                    {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    (folder, name),
                )

    def test_models_are_copied_to_where_pods_read_them(self):
        (copier,) = (manifest for (kind, _), manifest in manifests("models").items() if kind == "Pod")
        daemon = manifests("overlays/cpu")["Deployment", "znnid"]
        places = []
        for manifest in (copier, daemon):
            claims = {volume["name"]: volume.get("persistentVolumeClaim", {}) for volume in pod_of(manifest)["volumes"]}
            (mount,) = (mount for mount in container_of(manifest)["volumeMounts"] if claims[mount["name"]])
            places.append((claims[mount["name"]]["claimName"], mount["mountPath"], mount.get("readOnly", False)))
        self.assertEqual([places[0][:2], places[0][2], places[1][2]], [places[1][:2], False, True])

    def test_a_pod_is_given_longer_than_the_daemon_takes_to_end(self):
        for folder in ("overlays/cpu", "overlays/gpu"):
            deployment = manifests(folder)["Deployment", "znnid"]
            (timeout,) = (one["value"] for one in container_of(deployment)["env"] if one["name"] == "ZNNI_EXIT_TIMEOUT")
            (options,) = (
                one["data"]["znnid.conf"] for (kind, _), one in manifests(folder).items() if kind == "ConfigMap"
            )
            lame_duck = re.search(r"^lame-duck-secs=(\d+)$", options, re.MULTILINE)[1]
            grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            self.assertGreater(grace, int(lame_duck) + int(timeout))

    def test_the_gpu_is_asked_for_and_the_image_has_its_back_end(self):
        container = container_of(manifests("overlays/gpu")["Deployment", "znnid"])
        plugin = "/usr/lib/znni/libznni_cuda.so"
        self.assertEqual(
            container["args"],
            container_of(manifests("overlays/cpu")["Deployment", "znnid"])["args"] + ["--plugin", plugin],
        )
        self.assertIn(plugin, (ROOT / "deploy/docker/install").read_text())
        self.assertEqual(container["resources"]["limits"]["nvidia.com/gpu"], 1)
        self.assertTrue(container["image"].endswith(":cuda"))

    def test_resources_come_from_the_plan_of_the_shipped_model(self):
        """The form of overlays/cpu/resources.yaml is that of `planner --k8s-resources`."""
        made = run(
            PLANNER,
            "--model",
            ROOT / "deploy/models/fib25-boundary/1/model.onnx",
            "--mem",
            "2500M",
            "--threads",
            4,
            "--patience",
            "model",
            "--k8s-resources",
        )
        kept = (K8S / "overlays/cpu/resources.yaml").read_text()
        numbers = re.compile(r"\d+(\.\d+)?")
        self.assertEqual(numbers.sub("N", made), numbers.sub("N", kept))
        jsonschema.validate(
            container_of(yaml.safe_load(made))["resources"], k8s_schema.CONTAINER["properties"]["resources"]
        )


if __name__ == "__main__":
    unittest.main()
