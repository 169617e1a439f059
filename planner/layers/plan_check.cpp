#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/ladder.hpp"
#include "planner/plan/plan.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

std::string quoted(const std::vector<std::string>& lines, std::size_t i) {
  return i < lines.size() ? "\"" + lines[i] + "\"" : "missing";
}

Result<void> check_node_lines(const Plan& plan, const Network& network) {
  const std::vector<std::string> nodes = describe(network);
  if (plan.key.nodes == nodes) return {};
  std::size_t i = 0;
  while (i < nodes.size() && i < plan.key.nodes.size() && nodes[i] == plan.key.nodes[i]) ++i;
  return invalid_argument("made for another network: node " + std::to_string(i) + " is " + quoted(plan.key.nodes, i) +
                          " in the plan and " + quoted(nodes, i) + " in the network");
}

// Returns bytes with their exact number, because two that differ may round to the same text.
std::string exact_bytes(std::int64_t bytes) { return bytes_text(bytes) + " (" + std::to_string(bytes) + " bytes)"; }

Result<void> check_machine(const Plan& plan, const DeviceSpec& device, std::int64_t memory_limit) {
  if (plan.memory.total() > memory_limit) {
    return invalid_argument("needs " + exact_bytes(plan.memory.total()) + "; the limit is " +
                            exact_bytes(memory_limit));
  }
  if (plan.key.threads != device.threads) {
    return invalid_argument("planned for " + std::to_string(plan.key.threads) +
                            " threads, on which its memory depends; there are " + std::to_string(device.threads));
  }
  return {};
}

Result<void> check_primitive(const Step& step, const Catalogue& catalogue) {
  if (step.primitive.empty()) return {};  // the input's step only reorders
  const Primitive* primitive = catalogue.find(step.primitive);
  if (primitive == nullptr) return invalid_argument("unknown primitive " + step.primitive);
  if (primitive->version == step.version) return {};
  return invalid_argument(step.primitive + " is version " + std::to_string(primitive->version) + " here and version " +
                          std::to_string(step.version) + " in the plan");
}

// Fails if the step rounds coarser than the plan allows.
Result<void> check_precision(const Step& step, Precision allowed) {
  const Precision found = precision_of(step);
  if (found <= allowed) return {};
  return invalid_argument((step.primitive.empty() ? step.reorder : step.primitive) + " computes in " +
                          std::string(to_string(found)) + "; the plan allows " + std::string(to_string(allowed)));
}

// Fails if the rung needs more of a kind than the plan counts.
Result<void> check_counted(const char* what, std::int64_t needed, std::int64_t counted) {
  if (needed <= counted) return {};
  return invalid_argument(std::string("its ") + what + " take " + exact_bytes(needed) + "; the plan counts " +
                          exact_bytes(counted));
}

// The setting that plans are checked against.
struct Checked {
  const Network& network;
  const Catalogue& catalogue;
  const DeviceSpec& device;
  const GpuOffer* gpu;
};

Result<void> check_steps(const Rung& rung, const Plan& plan, const Catalogue& catalogue) {
  for (const Step& step : steps_of(rung)) {
    Result<void> sound = check_primitive(step, catalogue);
    if (sound) sound = check_precision(step, plan.key.precision);
    if (!sound) return sound.error().within("node " + std::to_string(step.node));
  }
  return {};
}

// Checks a rung with a GPU. `taken`: by the rungs with a GPU up to this one, which stand beside each other.
Result<void> check_split(const SpaceBytes& taken, const Plan& plan, const GpuOffer& gpu) {
  const SpaceBytes offered{saturated, gpu.pinned_bytes, gpu.device_bytes};
  if (!offered.covers({0, taken.pinned, taken.device})) {
    return invalid_argument("needs, with the rungs before it, " + exact_bytes(taken.device) +
                            " of the GPU's memory and " + exact_bytes(taken.pinned) + " pinned; there are " +
                            exact_bytes(offered.device) + " and " + exact_bytes(offered.pinned));
  }
  return check_counted("buffers in host RAM", add(taken.host, taken.pinned), plan.memory.transient);
}

Result<void> check_cpu(const RungDesign& design, const Plan& plan) {
  const std::int64_t persistent = mul(plan.sockets, persistent_bytes(design.whole.schedule.memory));
  if (Result<void> sound = check_counted("persistent buffers", persistent, plan.memory.persistent); !sound) {
    return sound;
  }
  return check_counted("tensors and scratch buffers", mul(plan.sockets, design.packing.bytes), plan.memory.transient);
}

// Fails where the plan counts less than a rung takes, or the GPU offers less.
Result<void> check_bytes(const std::vector<LadderRung>& rungs, const Plan& plan, const GpuOffer* gpu) {
  SpaceBytes taken;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    taken = taken.plus(rungs[i].split);
    const Result<void> sound = rungs[i].cpu ? check_cpu(*rungs[i].cpu, plan) : check_split(taken, plan, *gpu);
    if (!sound) return sound.error().within("rung " + std::to_string(i));
  }
  return {};
}

Result<void> check_ladder(const Plan& plan, const Checked& with) {
  if (plan.ladder.empty()) return invalid_argument("has no patch size");
  const std::int64_t weights = weight_bytes(with.network);
  if (Result<void> sound = check_counted("weights", weights, plan.memory.weights); !sound) return sound;
  for (std::size_t i = 0; i < plan.ladder.size(); ++i) {
    const Result<void> sound = check_steps(plan.ladder[i], plan, with.catalogue);
    if (!sound) return sound.error().within("rung " + std::to_string(i));
  }
  const DeviceSpec* const gpu = with.gpu == nullptr ? nullptr : &with.gpu->spec;
  const Result<std::vector<LadderRung>> rungs = design_rungs(with.network, plan, with.catalogue, with.device, gpu);
  if (!rungs) return rungs.error();
  if (Result<void> sound = check_bytes(*rungs, plan, with.gpu); !sound) return sound;
  return check_memory(with.network, plan, *rungs);
}

Result<void> check_all(const Plan& plan, const Checked& with, std::int64_t memory_limit) {
  if (Result<void> sound = check_node_lines(plan, with.network); !sound) return sound;
  if (Result<void> sound = check_machine(plan, with.device, memory_limit); !sound) return sound;
  return check_ladder(plan, with);
}

// Returns the words of `now` that are not among those of `before`.
std::string new_words(const std::string& before, const std::string& now) {
  std::set<std::string> known;
  std::string word;
  for (std::istringstream words(before); words >> word;) known.insert(word);
  std::string text;
  for (std::istringstream words(now); words >> word;) {
    if (known.contains(word)) continue;
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

}  // namespace

bool on_cpu(const Rung& rung) { return first_off_cpu(rung) == nullptr; }

Result<DeviceSpec> device_of_rungs(const Plan& plan, const DeviceSpec& cpu) {
  if (plan.sockets == 1) return cpu;
  if (needs_gpu(plan))
    return invalid_argument("sockets is " + std::to_string(plan.sockets) + "; with a GPU it must be 1");
  if (plan.sockets == cpu.sockets) return of_one_socket(cpu);
  return invalid_argument("planned for " + std::to_string(plan.sockets) + " sockets; there are " +
                          std::to_string(cpu.sockets));
}

bool needs_gpu(const Plan& plan) { return !std::all_of(plan.ladder.begin(), plan.ladder.end(), on_cpu); }

std::string device_name(const DeviceSpec& cpu, const DeviceSpec* gpu) {
  return gpu == nullptr ? cpu.name : cpu.name + " + " + gpu->name;
}

PlanCheck check(const Plan& plan, const Network& network, const Catalogue& catalogue, const DeviceSpec& device,
                std::int64_t memory_limit, const GpuOffer* gpu) {
  if (const Result<void> sound = check_all(plan, {network, catalogue, device, gpu}, memory_limit); !sound) {
    return {PlanFit::does_not_run, sound.error().message};
  }
  const std::string grown = new_words(plan.key.search_space, catalogue.within(plan.key.precision).fingerprint());
  if (!grown.empty()) return {PlanFit::runs_but_search_space_grew, "primitives that were not searched: " + grown};
  const std::string here = device_name(device, needs_gpu(plan) ? &gpu->spec : nullptr);
  if (plan.key.device != here) return {PlanFit::runs, "planned for " + plan.key.device + "; this is " + here};
  return {};
}

}  // namespace znni
