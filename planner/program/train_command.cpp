#include "planner/program/train_command.hpp"

#include <cstdio>

#include "planner/plan/pins.hpp"
#include "planner/train/step_form.hpp"
#include "planner/train/step_patch.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni {

namespace {

// Plans the step of the patch that is asked for, or else chooses one and prints which.
Result<StepPlan> plan_asked(const Network& network, const PlannerOptions& options, const StepOptions& step,
                            const StepParts& parts) {
  if (const std::optional<Vec3> patch = pinned_patch(options.pins, network.spatial_rank)) {
    return plan_step(step_form(network, *patch, step.sparse), *patch, step, parts);
  }
  Result<StepPatch> chosen = choose_step_patch(pooled_form(network), step, parts);
  if (!chosen) return chosen.error();
  std::printf("%s\n", to_string(*chosen).c_str());
  return std::move(chosen->plan);
}

}  // namespace

Result<void> train_command(const Network& network, const Session& session) {
  const std::unique_ptr<CostSource> costs = session_costs(session);
  const StepParts parts{session.catalogue, cpu::gradient_registry(), session.spec, costs.get()};
  const Result<StepPlan> plan =
      plan_asked(network, session.options, {session.memory_limit, session.options.sparse}, parts);
  if (!plan) return plan.error().within(session.options.model);
  const std::vector<std::string> lines = describe(*plan);
  const std::size_t first = session.options.explain ? 0 : lines.size() - 1;
  for (std::size_t i = first; i < lines.size(); ++i) std::printf("%s\n", lines[i].c_str());
  return {};
}

}  // namespace znni
