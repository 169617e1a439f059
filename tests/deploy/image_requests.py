"""Many requests to a daemon in a container, and its metrics. Not a test of CTest: .ci/image runs it.
Usage: image_requests.py HOST:PORT HOST:PORT-OF-METRICS MODEL COUNT."""

import sys
import urllib.request

import numpy as np
import tritonclient.grpc as triton


def infer(client, model, name, volume):
    """Returns the dense output."""
    tensor = triton.InferInput(name, list(volume.shape), "UINT8")
    tensor.set_data_from_numpy(volume)
    return client.infer(model, [tensor])


def main():
    address, metrics, model, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    random = np.random.default_rng(1)
    with triton.InferenceServerClient(address) as client:
        facts = client.get_model_metadata(model)
        source, target = facts.inputs[0].name, facts.outputs[0].name
        first = None
        for number in range(count):
            n = 56 + number % 7
            volume = np.full((1, 1, n, n + 1, n + 2), 128, np.uint8)
            volume[0, 0, 20:40] = random.integers(0, 256, (20, n + 1, n + 2))
            output = infer(client, model, source, volume).as_numpy(target)
            lost = [i - o for i, o in zip(volume.shape[2:], output.shape[2:])]
            first = first or lost
            if lost != first or not np.isfinite(output).all():
                raise SystemExit(f"request {number}: output {output.shape} of input {volume.shape}")
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    if "znni_output_voxels_total" not in text:
        raise SystemExit(f"no voxels were counted:\n{text}")
    print(f"{count} requests answered, field of view {[v + 1 for v in first]}")


if __name__ == "__main__":
    main()
