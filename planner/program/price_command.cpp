#include "planner/program/price_command.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "planner/report/price_list.hpp"

namespace znni {
namespace {

PricedPlan priced_as(const Plan& plan, PricedPlan own) {
  own.strategy = plan.key.strategy;
  own.predicted = plan.predicted;
  own.memory = plan.memory.total();
  own.refused.clear();
  return own;
}

bool has_gpu(const Session& session) { return find_device(*session.machine, DeviceKind::gpu) != nullptr; }

Result<Plan> split_plan(const Network& network, Session& session, SplitStrategy strategy) {
  const Result<MachinePlaces> places = session_places(session);
  if (!places) return places.error();
  session.options.split = strategy;
  Result<SplitPlan> plan =
      PlaceSearches(network, session, places->specs).within(searching_cuts, session.memory_limit, places->memory);
  if (!plan) return plan.error();
  return std::move(plan->plan);
}

// Looks at plans over CPU and GPU, too, where the machine has a GPU: among these are the plans of the GPU alone.
Result<Plan> fastest_plan(const Network& network, Session& session) {
  if (session.options.split) return split_plan(network, session, *session.options.split);
  Result<Plan> plan = make_plan(network, session, nullptr);
  if (!session.options.any_strategy || !has_gpu(session) || interrupted()) return plan;
  if (!plan && plan.error().code != ErrorCode::over_budget) return plan;  // nor is there one with the GPU
  Result<Plan> other = split_plan(network, session, SplitStrategy::cpu_gpu);
  if (!other && plan) warn(session.options.machine + ": no plan with its GPU is in the list: " + other.error().message);
  if (!other) return plan;
  const bool is_faster = !plan || other->predicted.voxels_per_second > plan->predicted.voxels_per_second;
  return is_faster ? other : plan;
}

Result<PricedPlan> price(const Network& network, const PlannerOptions& options, const PricedMachine& machine) {
  PlannerOptions own = options;
  own.machine = machine.file;
  Result<Session> session = open_session(own);
  if (!session) return session.error();
  PricedPlan priced{machine.file, session->machine->name, machine.dollars_per_hour, "", {}, 0};
  const Result<Plan> plan = fastest_plan(network, *session);
  if (plan) return priced_as(*plan, std::move(priced));
  if (plan.error().code != ErrorCode::over_budget) return plan.error().within(machine.file);
  priced.refused = plan.error().message;
  return priced;
}

}  // namespace

Result<void> price_command(const Network& network, const PlannerOptions& options) {
  PriceList list{network.name, options.volume, 0, options.within, {}};
  for (const PricedMachine& machine : options.priced) {
    const Result<PricedPlan> priced = price(network, options, machine);
    if (!priced) return priced.error();
    if (interrupted()) return Error{ErrorCode::cancelled, "interrupted before every machine was planned for"};
    list.plans.push_back(*priced);
  }
  const bool any =
      std::any_of(list.plans.begin(), list.plans.end(), [](const auto& plan) { return plan.refused.empty(); });
  if (!any) return Error{ErrorCode::over_budget, list.plans.front().file + ": " + list.plans.front().refused};
  if (list.volume) {
    list.output_voxels = static_cast<double>(voxels(*list.volume - lost_extent(network) + Vec3::cube(1)));
  }
  std::fputs((options.json ? price_json(list) : price_table(list)).c_str(), stdout);
  return {};
}

}  // namespace znni
