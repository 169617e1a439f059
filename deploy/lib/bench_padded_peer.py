"""Runs a network of ONNX in another program, once for each line of stdin, for bench_padded.py.

    bench_padded_peer.py onnxruntime|openvino MODEL.onnx --threads N

MODEL has no open extent. Answers are lines of JSON: first {"version", "voxels"}, the voxels of the output, then after
each line {"seconds", "processor_seconds"} of one run on random voxels; {"error": why} if something fails.
"""

import argparse
import json
import math
import os
import sys
import time

import numpy as np

VOLUME_SEED = 2


def onnxruntime(path, threads):
    """Returns (version, function that computes one volume, extent of the input)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return (
        onnxruntime.__version__,
        lambda volume: session.run(None, {name: volume})[0],
        session.get_inputs()[0].shape,
    )


def openvino(path, threads):
    """Returns the same of OpenVINO, which computes in float32."""
    import openvino

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    request = compiled.create_infer_request()

    def run(volume):
        return next(iter(request.infer([volume], share_inputs=True, share_outputs=True).values()))

    return openvino.__version__, run, list(compiled.inputs[0].shape)


PROGRAMS = {"onnxruntime": onnxruntime, "openvino": openvino}


def timed(run, volume):
    """Returns the times of one run."""
    wall, processor = time.perf_counter(), time.process_time()
    run(volume)
    return {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}


def say(what):
    print(json.dumps(what), flush=True)


def serve(program, path, threads):
    """Answers line by line."""
    version, run, extent = PROGRAMS[program](path, threads)
    volume = np.random.default_rng(VOLUME_SEED).random(extent, dtype=np.float32)
    say({"version": version, "voxels": math.prod(run(volume).shape[2:])})
    for _ in sys.stdin:
        say(timed(run, volume))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    try:
        serve(given.program, given.model, given.threads)
    except Exception as error:  # a program may not take the network, and each has its own exceptions
        say({"error": str(error).strip().split("\n")[0][:200]})
        sys.exit(1)
