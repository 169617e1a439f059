"""The peers of deploy/compare: each computes the dense output of one volume in the way that its documentation shows.

A function of PEERS takes a Task and returns a function that computes the whole output [c, z, y, x] of the volume once.
If a daemon computes beside this process, that function has it as `daemon`. The lines of a peer's function are those
that the table counts. What it needs is imported inside, so that a process holds the libraries of one peer alone.
"""

import inspect
import pathlib

import compare_task
import numpy as np

PLANNED = 75  # per cent of the daemon's memory that a plan may take; the rest is for volumes on their way


def module_of(task):
    """Returns the network as a module of PyTorch."""
    import compare_nets

    return compare_nets.module_of(task.name, task.folder)


def same_size(network, margin):
    """Returns a network that puts zeros around the output of one that does not pad."""
    import torch

    side = [margin // 2] * 6
    return lambda value: torch.nn.functional.pad(network(value), side)


def cropped(output, margin):
    """Returns [c, z, y, x] without the voxels that a network without padding does not have."""
    side = margin // 2
    return output[:, side : output.shape[1] - side, side : output.shape[2] - side, side : output.shape[3] - side]


def monai_windows(task, network):
    """Returns a function that runs MONAI's sliding windows: as documented if the network pads, else with margins of
    windows that weigh 0."""
    import torch
    from monai.inferers import sliding_window_inference

    window, margin = task.fitted, task.margin
    volume = torch.from_numpy(task.volume)[None, None]
    if not margin:
        return lambda: sliding_window_inference(volume, (window,) * 3, 1, network, 0.25)[0].numpy()
    weights = torch.zeros(1, 1, window, window, window)
    cropped(weights[0], margin)[:] = 1
    padded = same_size(network, margin)
    overlap = margin / window

    def call():
        output = sliding_window_inference(volume, (window,) * 3, 1, padded, overlap, roi_weight_map=weights)
        return cropped(output[0], margin).numpy()

    return call


def monai(task):
    """MONAI's sliding windows over PyTorch."""
    return monai_windows(task, module_of(task))


def monai_whole(task):
    """MONAI's simple inferer: the whole volume at once."""
    import torch
    from monai.inferers import SimpleInferer

    volume, module = torch.from_numpy(task.volume)[None, None], module_of(task)
    return lambda: SimpleInferer()(volume, module)[0].numpy()


def monai_onnxruntime(task):
    """MONAI's sliding windows over ONNX Runtime."""
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task.threads
    path = task.folder / ("boundary-dilated.onnx" if task.margin else f"{task.name}.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return monai_windows(task, lambda value: torch.from_numpy(session.run(None, {"raw": value.numpy()})[0]))


def predictor(task, window):
    """Returns an nnUNetPredictor without mirroring, for a network that nnU-Net did not train."""
    from types import SimpleNamespace

    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    made = nnUNetPredictor(0.5, True, False, False, torch.device("cpu"), allow_tqdm=False)
    heads = SimpleNamespace(num_segmentation_heads=compare_task.CHANNELS[task.name])
    plans = SimpleNamespace(get_label_manager=lambda _: heads)
    made.manual_initialization(module_of(task), plans, SimpleNamespace(patch_size=(window,) * 3), None, {}, "", None)
    return made


def nnunet(task):
    """nnU-Net's predictor with its defaults, windows that overlap by half and Gaussian weights, without mirroring."""
    import torch

    if task.margin:
        raise NotImplementedError("nnU-Net's windows have no margin that can be cut off: a net must pad")
    volume = torch.from_numpy(task.volume)[None]
    made = predictor(task, task.fitted)
    return lambda: made.predict_sliding_window_return_logits(volume).numpy()


def nnunet_whole(task):
    """nnU-Net's predictor, the whole volume being one window."""
    import torch

    volume = torch.from_numpy(task.volume)[None]
    made, margin = predictor(task, volume.shape[1]), task.margin
    made.use_gaussian = False
    made.network.register_forward_hook(lambda _, __, output: torch.nn.functional.pad(output, [margin // 2] * 6))
    return lambda: cropped(made.predict_sliding_window_return_logits(volume), margin).numpy()


class PatchInferencer:
    """What chunkflow's universal framework finds in a file: it computes the network for a patch."""

    def __init__(self, weights, mask):
        import compare_nets

        path = pathlib.Path(weights)
        self.module, self.mask = compare_nets.module_of(path.name, path.parent), np.asarray(mask)

    def __call__(self, patch):
        import torch

        with torch.inference_mode():
            return self.module(torch.from_numpy(patch)).numpy() * self.mask


def chunkflow(task):
    """chunkflow's inference operator: patches whose outputs abut, or overlap by a quarter if the network pads."""
    from chunkflow.chunk import Chunk
    from chunkflow.flow.divid_conquer.inferencer import Inferencer

    window, margin = task.fitted, task.margin
    inferencer = Inferencer(
        __file__,
        f"{task.folder}/{task.name}",
        (window,) * 3,
        (window - margin,) * 3,
        num_output_channels=compare_task.CHANNELS[task.name],
        output_patch_overlap=(0 if margin else window // 4,) * 3,
        output_crop_margin=(margin // 2,) * 3 if margin else None,
        framework="universal",
    )
    volume = Chunk(task.volume)
    return lambda: np.asarray(inferencer(volume).array)


def znni_predict(task):
    """znni.predict, which starts a daemon and stops it."""
    import znni

    path, volume = task.folder / f"{task.name}.onnx", task.volume
    limits = {"mem": task.memory, "threads": task.threads, "progress": False}
    return lambda: znni.predict(path, volume, **limits)


def znni_client(task):
    """Client.predict, of a daemon that runs."""
    import znni
    from znni.local.private_daemon import PrivateDaemon

    limits = {"mem": task.memory, "threads": task.threads, "progress": False}
    daemon = PrivateDaemon(task.folder / f"{task.name}.onnx", **limits).__enter__()
    client, volume = znni.Client(daemon.address), task.volume

    def call():
        return client.predict(daemon.model, volume, progress=False)

    call.daemon = daemon
    return call


def znni_planned(task):
    """Client.predict, of a daemon that runs, with a plan for volumes of this extent."""
    import subprocess

    from znni.local.private_daemon import find_program

    models = task.folder / f"models-{task.name}"
    model = models / task.name / "1/model.onnx"
    model.parent.mkdir(parents=True, exist_ok=True)
    if not model.exists():
        model.symlink_to(task.folder / f"{task.name}.onnx")
    extent = ",".join(map(str, task.volume.shape))
    memory = str(PLANNED * task.memory // 100)
    planner = [find_program("planner", "ZNNI_PLANNER"), "--model-repository", models]
    subprocess.run([*planner, "--mem", memory, "--volume", extent], check=True, stdout=subprocess.DEVNULL)
    return znni_client(task)


PEERS = {
    "znni-planned": znni_planned,
    "znni": znni_client,
    "znni.predict": znni_predict,
    "monai": monai,
    "monai-whole": monai_whole,
    "monai-onnxruntime": monai_onnxruntime,
    "nnunet": nnunet,
    "nnunet-whole": nnunet_whole,
    "chunkflow": chunkflow,
}
# What a peer's code consists of beside its own function.
SHARED = {
    znni_planned: (znni_client,),
    monai: (monai_windows,),
    monai_onnxruntime: (monai_windows,),
    nnunet: (predictor,),
    nnunet_whole: (predictor,),
    chunkflow: (PatchInferencer,),
}


def is_code(line):
    """Returns True if a line holds more than a comment."""
    return bool(line.strip()) and not line.strip().startswith("#")


def lines_of(function):
    """Returns the lines of a function or class without texts and blank lines."""
    text = inspect.getsource(function).replace(f'"""{function.__doc__}"""', "")
    return sum(map(is_code, text.splitlines()))


def lines_of_code(name):
    """Returns the lines of a peer's code, its helpers included."""
    return sum(map(lines_of, (PEERS[name], *SHARED.get(PEERS[name], ()))))
