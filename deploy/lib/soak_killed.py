"""Clients that deploy/soak kills. Each repeats one action, and prints a line when it has begun.
Usage: soak_killed.py KIND URL."""

import itertools
import os
import pathlib
import queue
import subprocess
import sys

import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.utils.shared_memory as shared

PATIENCE = 300  # seconds until a request without an answer counts as lost
VOLUME = np.zeros((1, 1, 60, 60, 60), np.float32)


def say_begun():
    print("begun", flush=True)


def upload(url):
    """Sends volumes, to be killed within one."""
    from soak import services
    from soak import upload as chunks

    stub = services.VolumesStub(grpc.insecure_channel(url))
    for number in itertools.count():
        responses = stub.Infer(chunks(VOLUME[0], "net", pause=0.3), timeout=PATIENCE)
        for response in responses:
            if number == 0 and response.WhichOneof("message") == "accepted":
                say_begun()


def model_stream_infer(url):
    """Sends requests through ModelStreamInfer, to be killed with some under way."""
    with triton.InferenceServerClient(url) as client:
        answers = queue.Queue()
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        tensor = triton.InferInput("input", list(VOLUME.shape), "FP32")
        tensor.set_data_from_numpy(VOLUME)
        for number in itertools.count():
            try:
                client.async_stream_infer("net", [tensor])
            except triton.InferenceServerException:  # the stream has ended; its last answer says why
                pass
            if number == 1:  # from now on one more is under way
                continue
            if (error := answers.get(timeout=PATIENCE)[1]) is not None:
                raise error
            if number == 0:
                say_begun()


def shared_memory(url):
    """Sends requests with voxels in shared memory, which stays when the client is killed."""
    name = memory_name(os.getpid())
    region = shared.create_shared_memory_region(name, "/" + name, VOLUME.nbytes)
    shared.set_shared_memory_region(region, [VOLUME])
    with triton.InferenceServerClient(url) as client:
        client.register_system_shared_memory(name, "/" + name, VOLUME.nbytes)
        tensor = triton.InferInput("input", list(VOLUME.shape), "FP32")
        tensor.set_shared_memory(name, VOLUME.nbytes)
        say_begun()
        while True:
            client.infer("net", [tensor], client_timeout=PATIENCE)


def code_and_message(error):
    """Returns code and message of an error of a bare stub or a stock client. The code is "" within ModelStreamInfer."""
    if isinstance(error, grpc.RpcError):
        return error.code().name, error.details()
    return str(error.status() or "").removeprefix("StatusCode."), error.message()


CLIENTS = {"upload": upload, "ModelStreamInfer": model_stream_infer, "shared memory": shared_memory}


def memory_name(pid):
    return f"znni_soak_{pid}"


def start(kind, url):
    """Starts one of CLIENTS as a process. Its first line is "begun", or code, tab and message of its refusal."""
    return subprocess.Popen(
        [sys.executable, __file__, kind, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def clear(pid, daemon):
    """Removes what a killed client left in shared memory, first the file, which the daemon may be reading."""
    (pathlib.Path("/dev/shm") / memory_name(pid)).unlink(missing_ok=True)
    with daemon.client() as client:
        client.unregister_system_shared_memory(memory_name(pid))


if __name__ == "__main__":
    try:
        CLIENTS[sys.argv[1]](sys.argv[2])
    except (grpc.RpcError, triton.InferenceServerException) as error:
        print(*code_and_message(error), sep="\t")
