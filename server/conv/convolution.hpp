// A valid convolution and its gradients, planned for one shape and ready to run on tensors of a caller.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "planner/train/work_plan.hpp"
#include "server/conv/shared_device.hpp"
#include "server/conv/work_run.hpp"

namespace znni {

enum class ConvWork { forward, input_gradient, weight_gradient };

class Convolution3d {
 public:
  // Plans forward run and gradients, each within `mem` bytes of workspace, for `threads` threads, at least 1. The
  // convolution has no activation and no residual. Fails as plan_work() does.
  [[nodiscard]] static Result<std::unique_ptr<Convolution3d>> make(const ConvProblem& problem, int threads,
                                                                   std::int64_t mem);

  [[nodiscard]] const WorkPlan& plan(ConvWork work) const { return plans_[static_cast<std::size_t>(work)]; }
  [[nodiscard]] const ConvProblem& problem() const { return problem_; }
  // Returns whether it was made by the calling process, whose threads compute; not so in the child after a fork.
  [[nodiscard]] bool is_of_this_process() const;

  // Runs a work; see WorkTensors and run_work(). Any thread may call it: runs with the same number of threads take
  // turns. Fails in a process that did not make it.
  [[nodiscard]] Result<void> run(ConvWork work, const LayerWeights& weights, const WorkTensors& tensors) const;

 private:
  Convolution3d(const ConvProblem& problem, std::shared_ptr<SharedDevice> shared)
      : problem_(problem), shared_(std::move(shared)) {}

  ConvProblem problem_;
  std::shared_ptr<SharedDevice> shared_;
  std::vector<WorkPlan> plans_;  // by ConvWork
};

// Returns the limit of a workspace where none is given: 0.4 of the memory that is free now (memory_free()
// of primitives/cpu/device/machine.hpp); bytes.
[[nodiscard]] std::int64_t default_workspace_limit(const std::filesystem::path& root = "/");

}  // namespace znni
