// The CUDA back end: its primitives and the GPUs they run on. Lives in a module, libznni_cuda.so
// (primitives/core/modules.hpp); unproven until its tests have run on a GPU (docs/gpu.md).
#pragma once

#include <span>

#include "primitives/core/primitive.hpp"

namespace znni::cuda {

// Returns the table of the folder, in the order of PRIMITIVES in CMakeLists.txt.
[[nodiscard]] std::span<const Primitive* const> registry();

// Returns the back end. Its probe() gives one spec per GPU, none without a driver. Its open() takes a spec of probe():
// GPUs are told apart by name, so that of several alike the first is opened. Its device budget is allocated at once.
[[nodiscard]] const Backend& backend();

}  // namespace znni::cuda
