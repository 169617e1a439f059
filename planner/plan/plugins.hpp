// Back ends beside the CPU's: plug-ins that the user names, and CUDA's where it lies beside the program; and the GPU
// that they bring.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "planner/plan/plan.hpp"

namespace znni {

struct Plugins {
  std::vector<const Backend*> backends;
  const Backend* gpu = nullptr;  // the first that found a GPU on this machine
  DeviceSpec gpu_spec;           // of that GPU
};

// Opens the modules in `files`; `with_cuda`: also libznni_cuda.so beside the program, if none of `files` has that name
// or brings a GPU of its own, on which CUDA's primitives cannot run. Errors name the file.
[[nodiscard]] Result<Plugins> open_plugins(std::span<const std::filesystem::path> files, bool with_cuda);

// Returns the GPU with `device_bytes` of its memory; unless given, as much as default_gpu_budget() says
// (gpu_budget.hpp). Fails with unsupported without a GPU; with over_budget, naming both numbers, if it has less, or
// nothing is left of what is free; with the back end's error if it cannot tell.
[[nodiscard]] Result<GpuOffer> offer_gpu(const Plugins& plugins, std::optional<std::int64_t> device_bytes,
                                         std::int64_t pinned_bytes);

}  // namespace znni
