#include "server/conv/convolution.hpp"

#include <unistd.h>

#include <utility>

#include "primitives/core/refusals.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni {
namespace {

const Catalogue& cpu_catalogue() {
  static const Backend* const backends[] = {&cpu::backend()};
  static const auto* const catalogue = new Catalogue(Catalogue::make(backends).value());
  return *catalogue;
}

}  // namespace

Result<std::unique_ptr<Convolution3d>> Convolution3d::make(const ConvProblem& problem, int threads, std::int64_t mem) {
  if (threads < 1) return invalid_argument("threads = " + std::to_string(threads) + ": at least 1 is needed");
  // Looked at before threads are started.
  if (Result<void> sound = check(LayerProblem(problem)); !sound) return sound.error();
  std::unique_ptr<Convolution3d> made(new Convolution3d(problem, shared_device(threads)));
  const StepParts parts{cpu_catalogue(), cpu::gradient_registry(), made->shared_->device->spec()};
  const WorkProblem works[] = {LayerProblem(problem), GradientProblem{problem, GradientOf::input, 0},
                               GradientProblem{problem, GradientOf::weights, 0}};
  for (const WorkProblem& work : works) {
    Result<WorkPlan> plan = plan_work(work, mem, parts);
    if (!plan) return plan.error();
    made->plans_.push_back(*std::move(plan));
  }
  return made;
}

bool Convolution3d::is_of_this_process() const { return shared_->process == getpid(); }

Result<void> Convolution3d::run(ConvWork work, const LayerWeights& weights, const WorkTensors& tensors) const {
  if (!is_of_this_process()) {
    return invalid_argument("the convolution was made before this process was forked: make it again");
  }
  const std::lock_guard turn(shared_->turn);
  return run_work(plan(work), weights, tensors, *shared_->device);
}

std::int64_t default_workspace_limit(const std::filesystem::path& root) { return cpu::memory_free(root) / 5 * 2; }

}  // namespace znni
