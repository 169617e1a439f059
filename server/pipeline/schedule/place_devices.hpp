// The devices that a plan runs on.
#pragma once

#include <string>
#include <utility>

#include "planner/plan/plan.hpp"
#include "primitives/core/accelerator.hpp"
#include "primitives/core/executor.hpp"

namespace znni {

// The devices of the places; `gpu` may be nullptr where there is none.
struct PlaceDevices {
  PlaceDevices(Device& cpu_device, Accelerator* accelerator = nullptr, std::string why = "")
      : cpu(&cpu_device), gpu(accelerator), lacking(std::move(why)) {}

  Device* cpu;
  Accelerator* gpu;
  std::string lacking;  // why there is no GPU where there should be one

  // Return the device that gives memory of `space` to segments on `place`, and the one that computes a call there.
  [[nodiscard]] Device& memory_device(Place place, MemorySpace space) const {
    return place == Place::cpu || (place == Place::gpu_host_ram && space == MemorySpace::host) ? *cpu : *gpu;
  }
  [[nodiscard]] Device& compute_device(Place place, bool divided) const {
    return place == Place::gpu || divided ? *gpu : *cpu;
  }
  // Returns the threads that copy in host RAM for segments on `place`. The CPU computes the head while a segment behind
  // it copies, and an executor takes one job at a time.
  [[nodiscard]] Executor& host_threads(Place place) const {
    return place == Place::cpu ? cpu->executor() : gpu->executor();
  }
};

}  // namespace znni
