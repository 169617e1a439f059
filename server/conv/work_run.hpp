// Runs a plan of one layer or gradient (planner/train/work_plan.hpp) on the tensors of its caller.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "planner/train/work_plan.hpp"
#include "primitives/core/device.hpp"

namespace znni {

// The caller's memory of one run. Tensors are planar and dense, of the shapes that the plan has, and need not be
// aligned.
struct WorkTensors {
  std::vector<const float*> reads;  // as WorkPlan::tensors
  float* written = nullptr;         // or the gradient of the kernels, in the order of LayerWeights::kernels
  std::span<float> bias;            // its gradient, for the weights of a convolution
  std::span<std::byte> workspace;   // of plan.packing.bytes or more, aligned to buffer_alignment
};

// Prepares the calls and runs them; what they declare lies in the workspace alone. `weights` are read as they are now.
// The device must be of the kind that the plan was made for. `poison`: see Arena. Appends to `high_water`, if there is
// one, the most transient bytes that each call's arena has seen.
[[nodiscard]] Result<void> run_work(const WorkPlan& plan, const LayerWeights& weights, const WorkTensors& tensors,
                                    Device& device, bool poison = false,
                                    std::vector<std::int64_t>* high_water = nullptr);

}  // namespace znni
