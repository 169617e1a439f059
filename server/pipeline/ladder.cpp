#include "server/pipeline/ladder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/layers/pipeline_bytes.hpp"
#include "primitives/core/refusals.hpp"
#include "server/pipeline/pipeline.hpp"

namespace znni {
namespace {

// A plan is refused when its own numbers are not those of its steps: what the planner promised is what the
// engine takes.
Result<void> check_memory(const MemoryUse& plan, const MemoryUse& steps) {
  if (plan == steps) return {};
  return unfit("plan memory: found " + to_string(plan) + ", its steps take " + to_string(steps));
}

// Of all sockets.
MemoryUse memory_of(const Network& network, const std::vector<LadderRung>& rungs, int sockets) {
  MemoryUse use;
  use.weights = weight_bytes(network);
  std::int64_t split = 0;
  for (const LadderRung& rung : rungs) {
    split = add(split, add(rung.split.host, rung.split.pinned));
    if (!rung.cpu) continue;
    use.persistent = add(use.persistent, persistent_bytes(rung.cpu->schedule.memory));
    use.transient = std::max(use.transient, rung.cpu->packing.bytes);
  }
  use.persistent = mul(use.persistent, sockets);
  use.transient = add(mul(use.transient, sockets), split);
  return use;
}

Error no_gpu(const Rung& rung) {
  const Segment* const elsewhere = first_off_cpu(rung);
  return {ErrorCode::unsupported, "segment of nodes " + std::to_string(elsewhere->first) + " to " +
                                      std::to_string(elsewhere->last) + " is placed on '" +
                                      std::string(to_string(elsewhere->place)) + "', and there is no GPU here"};
}

Result<LadderRung> design_one(const Network& network, const Rung& rung, const Catalogue& catalogue,
                              const DeviceSpec& cpu, const DeviceSpec* gpu) {
  if (network.window != Vec3{} && rung.geometry.pass_input != framed(network, network.window)) {
    return Error{ErrorCode::invalid_argument,
                 "it computes windows of " +
                     to_string(rung.geometry.pass_input - network.frame.begin - network.frame.end) +
                     "; the network's is " + to_string(network.window)};
  }
  LadderRung made;
  if (on_cpu(rung)) {
    Result<RungDesign> design = design_rung(network, rung, catalogue, cpu);
    if (!design) return design.error();
    made.cpu = *std::move(design);
    return made;
  }
  if (gpu == nullptr) return no_gpu(rung);
  const Result<RungSegments> parts = take_apart(network, rung, catalogue, {cpu, *gpu});
  if (!parts) return parts.error();
  if (Result<void> runs = Pipeline::check(*parts); !runs) return runs.error();
  made.split = pipeline_bytes(*parts);
  made.split_streamed = rung.geometry.streamed;
  return made;
}

}  // namespace

Plan without_gpu(const Plan& plan) {
  Plan rest = plan;
  for (const Rung& rung : plan.ladder) {
    if (!on_cpu(rung)) rest.memory.transient -= rung.memory.transient;
  }
  std::erase_if(rest.ladder, [](const Rung& rung) { return !on_cpu(rung); });
  return rest;
}

Result<std::vector<LadderRung>> design_ladder(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                              const DeviceSpec& cpu, const DeviceSpec* gpu) {
  if (plan.ladder.empty()) return Error{ErrorCode::invalid_argument, "plan: the ladder has no rung, it needs one"};
  if (is_tile_bound(network) && plan.ladder.size() != 1) {
    return Error{ErrorCode::invalid_argument, "plan: the ladder has " + std::to_string(plan.ladder.size()) +
                                                  " rungs; a network that is bound to its window has one"};
  }
  const Result<DeviceSpec> device = device_of_rungs(plan, cpu);
  if (!device) return device.error().within("plan");
  std::vector<LadderRung> rungs;
  for (const Rung& rung : plan.ladder) {
    Result<LadderRung> made = design_one(network, rung, catalogue, *device, gpu);
    if (!made) return made.error().within("plan: rung " + std::to_string(rungs.size()));
    rungs.push_back(*std::move(made));
  }
  if (Result<void> checked = check_memory(plan.memory, memory_of(network, rungs, plan.sockets)); !checked)
    return checked.error();
  return rungs;
}

}  // namespace znni
