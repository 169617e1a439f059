"""Who may include whom (the table of ARCHITECTURE.md). Fails on any include line the table does not allow."""

import pathlib
import re
import sys

import tree

CORE = ("primitives/core/",)
HYBRID = (*CORE, "primitives/hybrid/")
PLANNER = (*HYBRID, "planner/")
# The rooms of the planner, the lowest first: each may include those before it.
ROOMS = (
    "base",
    "network",
    "geometry",
    "plan",
    "costs",
    "layers",
    "train",
    "search",
    "split",
    "measure",
    "report",
    "program",
)
ENGINE = (*PLANNER, "server/pipeline/", "server/volume/")
# The rooms of what runs plans, likewise; what stands beside them may include all.
PIPELINE_ROOMS = ("job", "schedule", "split")
# Those of training, likewise.
TRAIN = (*ENGINE, "primitives/", "proto/convert/", "client/files/")
TRAIN_ROOMS = ("samples", "loss", "step", "validation")
STORE = (*ENGINE, "server/models/", "proto/convert/")
CUDA_LIBRARIES = ("cuda_runtime", "cublas", "cufft", "cudnn")
# The folders of the GPU's back end, the lowest first: each may include those before it.
CUDA_ROOMS = ("kernels", "device", "elementwise", "pool", "fft", "conv")
CPU_LIBRARIES = ("fftw3.h", "oneapi/", "dnnl", "hwloc", "hwy/", "omp.h")
# The folders of the CPU's back end, likewise.
CPU_ROOMS = ("vectors", "device", "elementwise", "pool", "fft", "fft_tiled", "conv", "grad")
# The folders that convert files, likewise.
CONVERT = (
    *PLANNER,
    "proto/network.pb.h",
    "proto/plan.pb.h",
    "proto/timings.pb.h",
    "proto/config.pb.h",
    "proto/train.pb.h",
    "proto/caffe.pb.h",
)
CONVERT_ROOMS = (
    "base",
    "text",
    "onnx/graph",
    "onnx/operators",
    "onnx/tokens",
    "onnx/folding",
    "onnx/reader",
    "onnx/writer",
    "caffe",
)
CONVERT_LIBRARIES = ("google/protobuf/", "onnx/")
# Those of gRPC, likewise.
RPC = (*STORE, "server/jobs/", "proto/")
RPC_ROOMS = ("base", "connections", "messages", "calls", "inference", "volumes")
RPC_LIBRARIES = ("grpcpp/", "grpc/", "google/protobuf/")
# Folder -> project paths it may include, then library headers it may include beside the standard library.
TABLE = {
    "primitives/core/": (CORE, ()),
    "primitives/gpu/": ((*CORE, "primitives/gpu/"), ()),
    "primitives/cuda/": ((*CORE, "primitives/gpu/", "primitives/cuda/"), CUDA_LIBRARIES),
    **{
        f"primitives/cuda/{room}/": (
            (*CORE, "primitives/gpu/", *(f"primitives/cuda/{lower}/" for lower in CUDA_ROOMS[: number + 1])),
            CUDA_LIBRARIES if room != "kernels" else ("cuda_runtime", "nv/target"),
        )
        for number, room in enumerate(CUDA_ROOMS)
    },
    "primitives/cpu/": ((*CORE, "primitives/cpu/"), CPU_LIBRARIES),
    **{
        f"primitives/cpu/{room}/": (
            (*CORE, *(f"primitives/cpu/{lower}/" for lower in CPU_ROOMS[: number + 1])),
            CPU_LIBRARIES,
        )
        for number, room in enumerate(CPU_ROOMS)
    },
    "primitives/hybrid/": (HYBRID, ()),
    **{
        f"planner/{room}/": ((*HYBRID, *(f"planner/{lower}/" for lower in ROOMS[: number + 1])), ())
        for number, room in enumerate(ROOMS)
    },
    "proto/convert/": ((*CONVERT, "proto/convert/"), CONVERT_LIBRARIES),
    **{
        f"proto/convert/{room}/": (
            (*CONVERT, *(f"proto/convert/{lower}/" for lower in CONVERT_ROOMS[: number + 1])),
            CONVERT_LIBRARIES,
        )
        for number, room in enumerate(CONVERT_ROOMS)
    },
    "proto/tls/": ((*CORE, "proto/tls/"), ("openssl/",)),
    "server/pipeline/": (ENGINE, ()),
    **{
        f"server/pipeline/{room}/": (
            (*PLANNER, "server/volume/", *(f"server/pipeline/{lower}/" for lower in PIPELINE_ROOMS[: number + 1])),
            (),
        )
        for number, room in enumerate(PIPELINE_ROOMS)
    },
    "server/volume/": (ENGINE, ()),
    "server/models/": (STORE, ()),
    "server/conv/": ((*PLANNER, "primitives/", "server/conv/"), ()),
    "server/train/": ((*TRAIN, "server/train/"), ("nlohmann/",)),
    **{
        f"server/train/{room}/": ((*TRAIN, *(f"server/train/{lower}/" for lower in TRAIN_ROOMS[: number + 1])), ())
        for number, room in enumerate(TRAIN_ROOMS)
    },
    "server/jobs/": ((*STORE, "server/jobs/"), ()),
    "server/rpc/": ((*RPC, "server/rpc/"), RPC_LIBRARIES),
    **{
        f"server/rpc/{room}/": ((*RPC, *(f"server/rpc/{lower}/" for lower in RPC_ROOMS[: number + 1])), RPC_LIBRARIES)
        for number, room in enumerate(RPC_ROOMS)
    },
    "server/": (
        (*STORE, "proto/tls/", "server/jobs/", "server/"),
        ("spdlog/", "fmt/", "CLI/", "grpcpp/", "google/protobuf/"),
    ),
    "server/metrics/": (
        (
            *STORE,
            "server/jobs/",
            "server/metrics/",
            "server/rpc/calls/call_record.hpp",
            "server/rpc/calls/refusal.hpp",
            "server/rpc/connections/connection_facts.hpp",
            "server/rpc/connections/owned_descriptor.hpp",
            "server/rpc/connections/paced.hpp",
            "server/rpc/connections/socket_address.hpp",
        ),
        ("httplib.h",),
    ),
    "server/rest/": (
        (*STORE, "server/jobs/", "server/rest/", "server/rpc/", "server/metrics/http_exchange.hpp", "proto/"),
        ("grpcpp/", "google/protobuf/", "nlohmann/"),
    ),
    "client/cpp/": ((*CORE, "client/cpp/", "proto/"), ("grpcpp/", "google/protobuf/")),
    "client/files/": ((*CORE, "client/files/"), ("hdf5.h", "tiffio.h", "zlib.h")),
    "client/cli/": ((*CORE, "client/", "proto/"), ("grpcpp/", "google/protobuf/", "CLI/", "nlohmann/", "spdlog/")),
}
# The programs assemble: their mains, and the command lines beside them, may include anything.
MAINS = (
    "planner/program/main.cpp",
    "planner/program/check_command.cpp",
    "planner/program/draw_command.cpp",
    "planner/program/plan_output.cpp",
    "planner/program/session.cpp",
    "planner/program/train_command.cpp",
    "planner/program/valid_command.cpp",
    "server/main.cpp",
    "server/train/main.cpp",
    "client/cli/main.cpp",
)
COMMAND_LINE = {
    "planner/program/answer_options.cpp": ("CLI/",),
    "planner/program/bound_options.cpp": ("CLI/",),
    "planner/program/options.cpp": ("CLI/",),
    "planner/program/report_options.cpp": ("CLI/",),
    "server/train/options.cpp": ("CLI/",),
    "planner/report/json.hpp": ("nlohmann/",),
    "planner/report/run_record.cpp": ("nlohmann/",),
}
# POSIX headers and the C++ standard library (no dot, no slash).
SYSTEM = re.compile(
    r"^([a-z_0-9]+|c[a-z]+|sys/[a-z]+\.h|(unistd|dlfcn|elf|fcntl|sched|pthread|signal|cpuid|immintrin|errno|netdb|poll|malloc|sysexits|termios)\.h|"
    r"(netinet|arpa|linux)/[a-z]+\.h|ext/[a-z_]+\.h)$"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def rule_for(path):
    """Returns the row of the longest folder that holds `path`."""
    folders = [folder for folder in TABLE if str(path).startswith(folder)]
    return TABLE[max(folders, key=len)]


def allowed(path, quoted, angled):
    """Returns True if `path` may include this header."""
    project, libraries = rule_for(path)
    libraries = (*libraries, *COMMAND_LINE.get(str(path), ()))
    if quoted:
        return quoted.startswith(project)
    return bool(SYSTEM.match(angled)) or angled.startswith(libraries)


def problems(root):
    """Yields every include line that the table forbids."""
    for path in tree.files(root):
        if str(path) in MAINS:
            continue
        for number, line in enumerate((root / path).read_text().split("\n"), 1):
            match = INCLUDE.match(line)
            if match and not allowed(path, match[1], match[2]):
                yield f"{path}:{number}: may not include {match[1] or match[2]}"


if __name__ == "__main__":
    sys.exit(tree.report(list(problems(pathlib.Path(sys.argv[1]))), "include table"))
