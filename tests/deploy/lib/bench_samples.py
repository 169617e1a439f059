"""Results of steps as the programs of deploy/bench print them, for the tests of its report."""

import statistics


def primitive(name, seconds, ratio, joules=None):
    return {
        "primitive": name,
        "variant": "tile_z=12",
        "in": "f32:blocked16",
        "out": "f32:blocked16",
        "tried": 3,
        "seconds": seconds,
        "processor_seconds_per_thread": seconds,
        "effective_flops_per_second": 4e11,
        "joules": joules,
        "speed_over_last": ratio,
        "persistent_bytes": 3 << 20,
        "transient_bytes": 5 << 20,
        "error": 1.5e-6,
        "runs": [seconds],
    }


def layer(**changes):
    """Returns the answer of znni-bench layer --json; 2 x 10 x 20 x 27 x 98^3 operations on 2e11 a second."""
    return {
        "problem": "conv",
        "f": 10,
        "f_out": 20,
        "k": [3, 3, 3],
        "n": [100, 100, 100],
        "S": 1,
        "device": "a machine",
        "threads": 2,
        "flops_per_second": 2e11,
        "read_bytes_per_second": 3e10,
        "load": 0.5,
        "primitives": [primitive("tiled", 0.1, 2.5, 2.0), primitive("onednn", 0.25, 1.0)],
        **changes,
    }


def net(seconds, predicted=10.0, planned=None, poolings=0, **changes):
    """Returns the answer of bench_net.py: 1000 voxels at once. Seconds of warm runs; the first run is cold."""
    runs = [
        {
            "kind": "warm" if i else "cold",
            "seconds": one,
            "measured_over_predicted": one / predicted,
            "voxels_per_second": 1000 / one,
        }
        for i, one in enumerate([99.0, *seconds])
    ]
    planned = planned or predicted
    return {
        "network": "n337",
        "part": "n337" + (f"_after_{poolings}" if poolings else ""),
        "poolings_left_out": poolings,
        "patch": [100] * 3,
        "S": 1,
        "voxels": 1000,
        "bytes": 3 << 29,
        "direct_flops": 1e12,
        "traffic_bytes": 3e10,
        "predicted_seconds": predicted,
        "joules": None,
        "runs": runs,
        "threads": 2,
        "planned": {"seconds": planned, "voxels_per_second": 600.0},
        "carried": {"voxels_per_second": 600.0 * predicted / statistics.median(seconds)},
        **changes,
    }


def peer(seconds, **changes):
    """Returns the answer of a peer whose rate is carried to 4e6 operations a voxel."""
    median = statistics.median(seconds)
    return {
        "peer": "torch",
        "version": "9.1",
        "form": "fragments",
        "part": "n337",
        "poolings_left_out": 0,
        "output": [10] * 3,
        "patch": [90] * 3,
        "seconds": median,
        "runs": seconds,
        "voxels": 1000,
        "bytes": 1 << 30,
        "direct_flops": 1e8,
        "traffic_bytes": 1e6,
        "joules": 5.0,
        "flops_per_second": 1e8 / median,
        "carried": {"output": [200] * 3, "flops_per_voxel": 4e6, "voxels_per_second": 25 / median},
        **changes,
    }


def lines(**steps):
    """Returns the lines of a results file, of (name, result) in order."""
    return [{"step": name, "date": "2026-01-01", "commit": "abc", "result": result} for name, result in steps.items()]


def some():
    """Returns one result of each kind."""
    return lines(
        **{
            "machine": layer(),
            "layer 10-20 k3 n100 S1": layer(),
            "net n337 all 16G t2 r1": net([4.0]),
            "net n337 all 16G t2 r2": net([6.0]),
            "net n337 all 16G t2 r3": net([5.0]),
            "net n337 onednn 16G t2 r1": net([20.0], planned=80.0),
            "torch n337 16G t2 r1": peer([0.5, 0.25, 0.125]),
            "net n337 all 2G t2 r1": net([10.0]),
            "net n337 all 2G t1 r1": net([16.0]),
            "net n337 all 1G t2 r1": net([20.0]),
        }
    )


def train(ratio=4.0, **changes):
    """What bench_train.py says of a layer."""
    times = {"best_seconds": 0.25, "best_processor_seconds": 0.125}
    return {
        "layer": {"f": 80, "f_out": 80, "k": [3, 3, 3], "n": [48, 48, 48], "S": 1},
        "threads": 1,
        "load": [0.5, 1.25],
        "ours": {**times, "predicted_seconds": 0.0625},
        "peer": {"version": "2.1", "form": "channels last", "best_seconds": 1.5, "best_processor_seconds": 0.5},
        "ratio": ratio,
        **changes,
    }


def padded(**changes):
    """Returns what bench_padded.py says of a net beside other programs."""
    ours = {
        "patch": [32, 512, 512],
        "reserved_bytes": 11 << 29,
        "peak_bytes": 23 << 28,
        "predicted_seconds": 1.25,
        "seconds": 1.0,
        "runs": [1.0] * 5,
        "voxels_per_second": 2e6,
    }
    return {
        "net": "MeshNet",
        "volume": [64] * 3,
        "threads": 2,
        "mem": 6 << 30,
        "planning": {"seconds": 1.25, "processor_seconds": 2.5},
        "flops_per_voxel": 192e3,
        "ours": ours,
        "onnxruntime": {"version": "1.31.1", "voxels_per_second": 5e5},
        "openvino": {"version": "2026.4.1-22982-e213a147257", "voxels_per_second": 1e6},
        "ratios": {"onnxruntime": 4.0, "openvino": 2.0},
        "processor_ratios": {"onnxruntime": 3.0, "openvino": 1.5},
        "floors": {"onnxruntime": 2.0, "openvino": 1.3},
        "goals": {"onnxruntime": 3.2, "openvino": 2.1},
        "load": [0.5, 1.25],
        **changes,
    }
