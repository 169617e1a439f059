// What steps of training are made of on this machine.
#pragma once

#include <algorithm>

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

// Returns the same, with gradients of input and weights at once that pretend to take no time: steps have them wherever
// they can.
[[nodiscard]] inline StepParts cpu_parts_at_once(int threads) {
  static const auto is_both = [](const GradientPrimitive* each) { return each->name == "cpu.grad.fft_tiled_both"; };
  static const std::span<const GradientPrimitive* const> all = cpu::gradient_registry();
  static const GradientPrimitive& both = **std::find_if(all.begin(), all.end(), is_both);
  static const GradientPrimitive quick{both.name, both.version, both.device,
                                       [](const GradientProblem& problem, const DeviceSpec& spec) {
                                         Result<std::vector<Estimate>> estimates = both.describe(problem, spec);
                                         if (!estimates) return estimates;
                                         for (Estimate& estimate : *estimates) estimate.time *= 1e-6;
                                         return estimates;
                                       },
                                       both.prepare};
  static const std::vector<const GradientPrimitive*> gradients = [] {
    std::vector<const GradientPrimitive*> found(all.begin(), all.end());
    std::replace_if(found.begin(), found.end(), is_both, &quick);
    return found;
  }();
  StepParts parts = cpu_parts(threads);
  parts.gradients = gradients;
  return parts;
}

}  // namespace znni::test
