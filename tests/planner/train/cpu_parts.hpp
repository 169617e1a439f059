// What steps of training are made of on this machine.
#pragma once

#include "planner/train/step_ways.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::test {

// Returns the primitives of the CPU and their gradients, for a device with this number of threads.
[[nodiscard]] inline StepParts cpu_parts(int threads) {
  static const Backend* const backends[] = {&cpu::backend()};
  static const Catalogue catalogue = Catalogue::make(backends).value();
  return {catalogue, cpu::gradient_registry(), cpu::describe_cpu(threads), nullptr};
}

}  // namespace znni::test
