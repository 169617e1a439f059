#include "tests/planner/fake_primitives.hpp"

#include <array>
#include <utility>

namespace znni::test {
namespace {

using Estimates = Result<std::vector<Estimate>>;

Error refusal(const char* message) { return {ErrorCode::unsupported, message}; }

Result<std::unique_ptr<PreparedLayer>> never_prepared(const LayerProblem& /*problem*/, const Estimate& /*chosen*/,
                                                      const LayerWeights& /*weights*/, Arena& /*persistent*/,
                                                      Device& /*device*/) {
  return refusal("fakes are not built");
}

bool is_conv(const LayerProblem& problem) { return std::holds_alternative<ConvProblem>(problem); }

Estimate staged(const LayerProblem& problem, std::int64_t part) {
  const std::int64_t in = tensor_bytes(input_shape(problem, 0), planar);
  const std::int64_t out = tensor_bytes(output_shape(problem), planar);
  Estimate estimate{{{"part", part}},
                    planar,
                    planar,
                    1e-3 * static_cast<double>(part),
                    {{"input 0", MemorySpace::host, in, Lifetime::stages(0, 0)},
                     {"transforms", MemorySpace::host, part * fake_transform_bytes, Lifetime::stages(0, 1)},
                     {"output", MemorySpace::host, out, Lifetime::stages(1, 2)},
                     {"kernels", MemorySpace::host, fake_kernel_bytes, Lifetime::plan()}}};
  if (input_count(problem) == 2) {
    estimate.memory.push_back({"input 1", MemorySpace::host, out, Lifetime::stages(0, 2)});
  }
  if (part == 3) {
    estimate.memory.push_back({"late", MemorySpace::host, fake_scratch_bytes, Lifetime::stages(3, 3)});
  }
  return estimate;
}

Estimates describe_staged(const LayerProblem& problem, const DeviceSpec& /*spec*/) {
  if (!is_conv(problem)) return refusal("only convolutions");
  return std::vector<Estimate>{staged(problem, 1), staged(problem, 2), staged(problem, 3)};
}

Estimates describe_blocked(const LayerProblem& problem, const DeviceSpec& /*spec*/) {
  if (!is_conv(problem)) return refusal("only convolutions");
  return std::vector<Estimate>{{{}, blocked, blocked, 1e-3, input_output_buffers(problem, blocked, blocked)},
                               {{}, planar, blocked, 2e-3, input_output_buffers(problem, planar, blocked)}};
}

Estimates describe_any(const LayerProblem& problem, const DeviceSpec& /*spec*/) {
  if (is_conv(problem) || std::holds_alternative<ReorderProblem>(problem)) return refusal("no convolutions");
  std::vector<Estimate> estimates;
  for (const Format format : {planar, blocked}) {
    Estimate estimate{{}, format, format, 1e-4, input_output_buffers(problem, format, format)};
    estimate.memory.push_back({"scratch", MemorySpace::host, fake_scratch_bytes, Lifetime::stages(0, 0)});
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Estimates describe_reorder(const LayerProblem& problem, const DeviceSpec& /*spec*/) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  if (reorder == nullptr) return refusal("only reorders");
  return std::vector<Estimate>{
      {{}, reorder->from, reorder->to, 1e-5, input_output_buffers(problem, reorder->from, reorder->to)}};
}

Estimates describe_broken(const LayerProblem& problem, const DeviceSpec& spec) {
  Estimates estimates = describe_blocked(problem, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) estimate.memory.back().bytes = 4;
  return estimates;
}

Estimates describe_forgetful(const LayerProblem& problem, const DeviceSpec& spec) {
  Estimates estimates = describe_blocked(problem, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) estimate.memory.erase(estimate.memory.begin());
  return estimates;
}

constexpr Primitive conv_staged{"cpu.conv.staged", 1, DeviceKind::cpu, describe_staged, never_prepared};
constexpr Primitive conv_blocked{"cpu.conv.blocked", 3, DeviceKind::cpu, describe_blocked, never_prepared};
constexpr Primitive any{"cpu.any", 2, DeviceKind::cpu, describe_any, never_prepared};
constexpr Primitive reorder{"cpu.reorder", 1, DeviceKind::cpu, describe_reorder, never_prepared};
constexpr Primitive broken{"cpu.broken", 1, DeviceKind::cpu, describe_broken, never_prepared};
constexpr Primitive forgetful{"cpu.forgetful", 1, DeviceKind::cpu, describe_forgetful, never_prepared};

Step planar_step(const Network& network, int node) {
  const bool conv = std::holds_alternative<Convolution>(network.nodes[static_cast<std::size_t>(node)].operation);
  if (conv) return {node, "cpu.conv.staged", 1, {{"part", 1}}, planar, planar, planar, "", {}, 1e-3, Basis::model};
  return {node, "cpu.any", 2, {}, planar, planar, planar, "", {}, 1e-4, Basis::model};
}

Step random_step(const Network& network, int node, Format in, Format out, Random& random) {
  Step step = planar_step(network, node);
  const bool conv = step.primitive == "cpu.conv.staged";
  const bool adds = network.nodes[static_cast<std::size_t>(node)].inputs.size() == 2;  // reads what lies as it writes
  if (conv && !adds && (in == blocked || random.chance(0.5))) {
    step.primitive = "cpu.conv.blocked";
    step.version = 3;
    step.variant = {};
    step.native = blocked;
  }
  if (conv && step.native == planar) step.variant = {{"part", random.integer(1, 3)}};
  if (!conv) step.native = in;
  step.in = in;
  step.out = out;
  if (step.native != out) step.reorder = "cpu.reorder";
  return step;
}

}  // namespace

const Backend& fake_backend() {
  static constexpr std::array<const Primitive*, 6> rows = {&reorder, &conv_staged, &conv_blocked,
                                                           &any,     &broken,      &forgetful};
  static constexpr Backend backend{"fake", nullptr, nullptr, rows};
  return backend;
}

Catalogue fake_catalogue() {
  const std::array<const Backend*, 1> backends = {&fake_backend()};
  return *Catalogue::make(backends);
}

DeviceSpec fake_device() {
  DeviceSpec spec;
  spec.name = "fake, 2 threads";
  spec.threads = 2;
  return spec;
}

std::vector<Step> planar_steps(const Network& network) {
  std::vector<Step> steps;
  for (int node = 0; node < static_cast<int>(network.nodes.size()); ++node) steps.push_back(planar_step(network, node));
  return steps;
}

// Draws steps. Branches that meet read one format: the whole net is in one, but for single-input nodes between.
std::vector<Step> random_steps(const Network& network, Random& random) {
  const int count = static_cast<int>(network.nodes.size());
  std::vector<Format> formats;  // per value
  for (int value = 0; value <= count; ++value) formats.push_back(random.chance(0.5) ? planar : blocked);
  formats.back() = planar;
  for (const Node& node : network.nodes) {
    for (const int input : node.inputs) {
      if (node.inputs.size() > 1) formats[static_cast<std::size_t>(input)] = planar;
    }
  }
  std::vector<Step> steps;
  if (formats[0] != planar) {
    steps.push_back({-1, "", 0, {}, planar, planar, formats[0], "cpu.reorder", {}, 1e-5, Basis::model});
  }
  for (int node = 0; node < count; ++node) {
    const int input = network.nodes[static_cast<std::size_t>(node)].inputs.front();
    const Format in = formats[static_cast<std::size_t>(input)];
    steps.push_back(random_step(network, node, in, formats[static_cast<std::size_t>(node + 1)], random));
  }
  return steps;
}

}  // namespace znni::test
