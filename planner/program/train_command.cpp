#include "planner/program/train_command.hpp"

#include <cstdio>

#include "planner/plan/pins.hpp"
#include "planner/train/step_plan.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni {

Result<void> train_command(const Network& network, const Session& session) {
  const std::unique_ptr<CostSource> costs = session_costs(session);
  const StepParts parts{session.catalogue, cpu::gradient_registry(), session.spec, costs.get()};
  const Vec3 patch = *pinned_patch(session.options.pins, network.spatial_rank);
  const Result<StepPlan> plan = plan_step(network, patch, {session.memory_limit}, parts);
  if (!plan) return plan.error().within(session.options.model);
  const std::vector<std::string> lines = describe(*plan);
  const std::size_t first = session.options.explain ? 0 : lines.size() - 1;
  for (std::size_t i = first; i < lines.size(); ++i) std::printf("%s\n", lines[i].c_str());
  return {};
}

}  // namespace znni
