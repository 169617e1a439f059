#include "planner/search/rung_plan.hpp"

#include <algorithm>

#include "planner/layers/prediction.hpp"
#include "planner/plan/throughput.hpp"

namespace znni {
namespace {

PlanKey make_key(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                 const SearchOptions& options) {
  const Vec3 frame = network.frame.begin + network.frame.end;
  const std::optional<Vec3> volume = options.volume ? std::optional(*options.volume - frame) : std::nullopt;
  return {network.name,
          describe(network),
          spec.name,
          spec.threads,
          options.memory_limit,
          std::string(to_string(options.strategy)),
          catalogue.fingerprint(),
          options.precision,
          to_string(options.pins),
          volume};
}

}  // namespace

Plan rung_plan(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, const SearchOptions& options,
               const FoundRung& found) {
  Plan plan;
  plan.key = make_key(network, spec, catalogue, options);
  plan.predicted = predict(network, found.geometry, found.rung, found.voxels_per_second);
  if (options.volume) plan.predicted.endless_voxels_per_second = endless_rate(found.geometry, found.rung.seconds);
  append(plan, found.rung);
  return plan;
}

void append(Plan& plan, Rung rung) {
  plan.memory.weights = rung.memory.weights;
  plan.memory.persistent = add(plan.memory.persistent, rung.memory.persistent);
  plan.memory.transient = std::max(plan.memory.transient, rung.memory.transient);
  plan.ladder.push_back(std::move(rung));
}

}  // namespace znni
