#include "planner/layers/ladder.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/layers/pipeline_bytes.hpp"
#include "planner/layers/segment_check.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/network/tile_bound.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

Result<void> check_segment(const Segment& segment) {
  if (segment.place != Place::cpu) {
    return refused(name_of(segment) + " is placed on '" + std::string(to_string(segment.place)) +
                   "'; this engine runs segments on 'cpu' only");
  }
  if (segment.micro_batch != MicroBatch{}) {
    return refused(name_of(segment) + " runs in micro-batches; this engine runs whole segments only");
  }
  for (const Step& step : segment.steps) {
    if (!step.division.empty()) {
      return refused("node " + std::to_string(step.node) +
                     " is divided into sub-layers; this engine runs whole layers only");
    }
  }
  return {};
}

Result<void> check_host_only(const MemoryPlan& memory) {
  for (const Buffer& buffer : memory) {
    if (buffer.space == MemorySpace::host) continue;
    return refused("buffer '" + buffer.name + "' lies in " + std::string(to_string(buffer.space)) +
                   " memory; this engine grants host memory only");
  }
  return {};
}

// Returns what the rungs take on all sockets together, weights included.
MemoryUse memory_of(const Network& network, const std::vector<LadderRung>& rungs, int sockets) {
  MemoryUse use;
  use.weights = weight_bytes(network);
  std::int64_t split = 0;
  for (const LadderRung& rung : rungs) {
    split = add(split, add(rung.split.host, rung.split.pinned));
    if (!rung.cpu) continue;
    use.persistent = add(use.persistent, persistent_bytes(rung.cpu->whole.schedule.memory));
    use.transient = std::max(use.transient, rung.cpu->packing.bytes);
  }
  use.persistent = mul(use.persistent, sockets);
  use.transient = add(mul(use.transient, sockets), split);
  return use;
}

Error no_gpu(const Rung& rung) {
  const Segment& elsewhere = *first_off_cpu(rung);
  return refused(name_of(elsewhere) + " is placed on '" + std::string(to_string(elsewhere.place)) +
                 "', and there is no GPU here");
}

Result<LadderRung> design_one(const Network& network, const Rung& rung, const Catalogue& catalogue,
                              const DeviceSpec& cpu, const DeviceSpec* gpu) {
  if (network.window != Vec3{} && rung.geometry.pass_input != framed(network, network.window)) {
    return invalid_argument("it computes windows of " +
                            to_string(rung.geometry.pass_input - network.frame.begin - network.frame.end) +
                            "; the network's is " + to_string(network.window));
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
  if (Result<void> runs = check_segments(parts->segments); !runs) return runs.error();
  made.split = pipeline_bytes(*parts);
  made.split_streamed = rung.geometry.streamed;
  return made;
}

}  // namespace

Result<RungDesign> design_rung(const Network& network, const Rung& rung, const Catalogue& catalogue,
                               const DeviceSpec& spec) {
  for (const Segment& segment : rung.segments) {
    if (Result<void> checked = check_segment(segment); !checked) return checked.error();
  }
  Result<Geometry> geometry = make_geometry(network, rung.geometry);
  if (!geometry) return geometry.error();
  const std::vector<Step> steps = steps_of(rung);
  Result<Schedule> schedule = make_schedule(network, *geometry, steps, catalogue, spec);
  if (!schedule) return schedule.error();
  if (Result<void> checked = check_host_only(schedule->memory); !checked) return checked.error();
  RungDesign design;
  design.whole.network = swap_axes(network, rung.geometry.axis);
  design.whole.geometry = *std::move(geometry);
  design.whole.steps = steps;
  design.whole.schedule = *std::move(schedule);
  design.whole.inputs = design.whole.micro_batch = rung.geometry.S;
  design.whole.fragments_before = Vec3::cube(1);
  design.packing = pack(design.whole.schedule.memory);
  return design;
}

Plan without_gpu(const Plan& plan) {
  Plan rest = plan;
  for (const Rung& rung : plan.ladder) {
    if (!on_cpu(rung)) rest.memory.transient -= rung.memory.transient;
  }
  std::erase_if(rest.ladder, [](const Rung& rung) { return !on_cpu(rung); });
  return rest;
}

Result<std::vector<LadderRung>> design_rungs(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                             const DeviceSpec& cpu, const DeviceSpec* gpu) {
  if (plan.ladder.empty()) return invalid_argument("the ladder has no rung, it needs one");
  if (is_tile_bound(network) && plan.ladder.size() != 1) {
    return invalid_argument("the ladder has " + std::to_string(plan.ladder.size()) +
                            " rungs; a network that is bound to its window has one");
  }
  const Result<DeviceSpec> device = device_of_rungs(plan, cpu);
  if (!device) return device.error();
  std::vector<LadderRung> rungs;
  for (const Rung& rung : plan.ladder) {
    Result<LadderRung> made = design_one(network, rung, catalogue, *device, gpu);
    if (!made) return made.error().within("rung " + std::to_string(rungs.size()));
    rungs.push_back(*std::move(made));
  }
  return rungs;
}

// Checks that the engine takes what the planner promised.
Result<void> check_memory(const Network& network, const Plan& plan, const std::vector<LadderRung>& rungs) {
  const MemoryUse steps = memory_of(network, rungs, plan.sockets);
  if (plan.memory == steps) return {};
  return invalid_argument("plan memory: found " + to_string(plan.memory) + ", its steps take " + to_string(steps));
}

Result<std::vector<LadderRung>> design_ladder(const Network& network, const Plan& plan, const Catalogue& catalogue,
                                              const DeviceSpec& cpu, const DeviceSpec* gpu) {
  Result<std::vector<LadderRung>> rungs = design_rungs(network, plan, catalogue, cpu, gpu);
  if (!rungs) return rungs.error().within("plan");
  if (Result<void> checked = check_memory(network, plan, *rungs); !checked) return checked.error();
  return rungs;
}

}  // namespace znni
