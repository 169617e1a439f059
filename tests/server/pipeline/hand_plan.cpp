#include "tests/server/pipeline/hand_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/geometry/streams.hpp"
#include "planner/layers/schedule.hpp"
#include "planner/network/swap_axes.hpp"
#include "tests/planner/random_modes.hpp"

namespace znni::test {
namespace {

struct Option {
  const Primitive* primitive = nullptr;
  Estimate estimate;
};

std::vector<Option> planar_options(const LayerProblem& problem, const Catalogue& catalogue, const DeviceSpec& spec) {
  std::vector<Option> options;
  for (const Primitive* primitive : catalogue.primitives()) {
    Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec);
    if (!estimates) continue;
    for (Estimate& estimate : *estimates) {
      if (estimate.in == Format{} && estimate.out == Format{}) options.push_back({primitive, std::move(estimate)});
    }
  }
  return options;
}

Result<std::vector<Step>> random_steps(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& spec,
                                       Random& random) {
  std::vector<Step> steps;
  for (const LayerProblem& problem : geometry.problems) {
    const std::vector<Option> options = planar_options(problem, catalogue, spec);
    if (options.empty()) return Error{ErrorCode::unsupported, "no planar primitive for " + to_string(problem)};
    const auto last = static_cast<std::int64_t>(options.size()) - 1;
    const Option& option = options[static_cast<std::size_t>(random.integer(0, last))];
    Step step;
    step.node = static_cast<int>(steps.size());
    step.primitive = option.primitive->name;
    step.version = option.primitive->version;
    step.variant = option.estimate.variant;
    step.seconds = option.estimate.time;
    steps.push_back(std::move(step));
  }
  return steps;
}

Result<Rung> hand_rung(const Network& network, const GeometryChoice& choice, const Catalogue& catalogue,
                       const DeviceSpec& spec, Random& random) {
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return geometry.error();
  const Result<std::vector<Step>> steps = random_steps(*geometry, catalogue, spec, random);
  if (!steps) return steps.error();
  const Result<Schedule> schedule = make_schedule(network, *geometry, *steps, catalogue, spec);
  if (!schedule) return schedule.error();
  Rung rung;
  rung.geometry = choice;
  rung.segments = {{0, static_cast<int>(network.nodes.size()) - 1, Place::cpu, {}, *steps}};
  for (std::size_t i = 0; i < steps->size(); ++i) {
    rung.seconds += (*steps)[i].seconds * static_cast<double>(geometry->runs[i]);
  }
  rung.memory = {weight_bytes(network), persistent_bytes(schedule->memory), pack(schedule->memory).bytes};
  return rung;
}

}  // namespace

Result<Plan> hand_plan(const Network& network, const std::vector<GeometryChoice>& ladder, const Catalogue& catalogue,
                       const DeviceSpec& spec, Random& random) {
  Plan plan;
  plan.key = {network.name, describe(network), spec.name, spec.threads, saturated, "cpu", catalogue.fingerprint()};
  plan.memory.weights = weight_bytes(network);
  for (const GeometryChoice& choice : ladder) {
    Result<Rung> rung = hand_rung(network, choice, catalogue, spec, random);
    if (!rung) return rung.error();
    plan.memory.persistent += rung->memory.persistent;
    plan.memory.transient = std::max(plan.memory.transient, rung->memory.transient);
    plan.ladder.push_back(std::move(*rung));
  }
  return plan;
}

GeometryChoice random_choice(const Network& network, Random& random, std::int64_t S, std::int64_t steps) {
  for (;;) {
    GeometryChoice choice;
    choice.S = S;
    choice.modes = random_modes(network, random);
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<std::int64_t> legal = legal_extents(network, choice.modes, axis, 200);
      const std::int64_t last = std::min(steps, static_cast<std::int64_t>(legal.size()) - 1);
      if (last >= 0) choice.pass_input[axis] = legal[static_cast<std::size_t>(random.integer(0, last))];
    }
    // Branches that pool need the same modes: draw again.
    if (!make_geometry(network, choice)) continue;
    if (random.chance(0.5)) choice.stem_slab = random.integer(1, 2);
    if (!make_geometry(network, choice)) choice.stem_slab = 0;
    return choice;
  }
}

std::optional<GeometryChoice> random_stream(const Network& whole, Random& random, std::int64_t steps) {
  const int axis = can_swap_axes(whole) ? static_cast<int>(random.integer(0, 2)) : 0;
  const Network network = swap_axes(whole, axis);
  GeometryChoice choice = random_choice(network, random, 1, steps);
  if (!can_stream(network, choice.modes)) return std::nullopt;
  choice.streamed = true;
  choice.pass_input.z = max(reaches(network).back().stride, period(network)).z * random.integer(1, steps);
  choice.axis = axis;
  if (!make_geometry(whole, choice)) choice.stem_slab = 0;
  return choice;
}

GeometryChoice choice_of(const Network& network, PoolMode mode, std::int64_t step, std::int64_t S) {
  GeometryChoice choice;
  choice.S = S;
  choice.modes.assign(pooling_nodes(network).size(), mode);
  for (int axis = 0; axis < 3; ++axis) {
    choice.pass_input[axis] = legal_extents(network, choice.modes, axis, 400)[static_cast<std::size_t>(step)];
  }
  return choice;
}

}  // namespace znni::test
