#include "planner/train/step_ways.hpp"

#include <algorithm>
#include <utility>

#include "primitives/core/index.hpp"
#include "primitives/core/overloaded.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// Cost of what a layer keeps, per byte: it is written once, and read or transformed for that. Kernels that are packed
// take less.
constexpr double preparing_passes = 4.0;
constexpr double preparing_flops = 20.0;

// Returns the time to prepare a layer again, which no estimate counts.
Seconds preparing_seconds(const Estimate& estimate, const DeviceSpec& device) {
  const auto bytes = static_cast<double>(persistent_bytes(estimate.memory));
  return bytes * std::max(preparing_passes / device.bytes_per_second, preparing_flops / device.flops_per_second);
}

// Returns whether the layer keeps the spectra of its kernels. In a step that saves nothing, because kernels change; and
// while it is prepared it takes scratch from the heap, which no plan declares (cpu.conv.fft_tiled).
bool keeps_spectra(const Estimate& estimate) { return setting(estimate.variant, "keep_spectra", 0) != 0; }

bool is_of_host(Format format) { return format.type == ElementType::f32; }

void describe_layer(const LayerProblem& problem, const Primitive& primitive, const StepParts& parts,
                    std::vector<StepWay>& ways, std::string& why) {
  Result<std::vector<Estimate>> estimates = primitive.describe(problem, parts.device);
  if (!estimates) {
    why = estimates.error().message;
    return;
  }
  for (Estimate& estimate : *estimates) {
    if (!is_of_host(estimate.in) || !is_of_host(estimate.out) || keeps_spectra(estimate)) continue;
    const Seconds run =
        parts.costs == nullptr ? cold_share * estimate.time : parts.costs->cost(problem, primitive, estimate).seconds;
    const Seconds seconds = run + preparing_seconds(estimate, parts.device);
    ways.push_back({&primitive, nullptr, std::move(estimate), seconds});
  }
}

void describe_gradient(const GradientProblem& problem, const GradientPrimitive& primitive, const StepParts& parts,
                       std::vector<StepWay>& ways, std::string& why) {
  Result<std::vector<Estimate>> estimates = primitive.describe(problem, parts.device);
  if (!estimates) {
    why = estimates.error().message;
    return;
  }
  for (Estimate& estimate : *estimates) {
    // The gradients of weights are the caller's, planar.
    if (problem.of == GradientOf::weights && estimate.out != Format{}) continue;
    const Seconds seconds = estimate.time + preparing_seconds(estimate, parts.device);
    ways.push_back({nullptr, &primitive, std::move(estimate), seconds});
  }
}

// Returns the layout of blocks that layers of the device have.
Layout blocks_of(const DeviceSpec& device) { return device.simd_floats == 16 ? Layout::blocked16 : Layout::blocked8; }

// Padding is a copy, or back; each format is a way.
std::vector<StepWay> ways_of(const PadProblem& pad, const DeviceSpec& device) {
  const Shape5 shapes[] = {pad.is_gradient ? padded_shape(pad) : pad.in, pad.is_gradient ? pad.in : padded_shape(pad)};
  std::vector<StepWay> ways;
  for (const Layout layout : {Layout::planar, blocks_of(device)}) {
    StepWay way;
    way.estimate.in = way.estimate.out = {ElementType::f32, layout};
    const std::string names[] = {input_name(0), std::string(output_name)};
    std::int64_t all = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t bytes = tensor_bytes(shapes[i], way.estimate.in);
      way.estimate.memory.push_back({names[i], MemorySpace::host, bytes, Lifetime::stages(0, 0)});
      all = add(all, bytes);
    }
    way.seconds = way.estimate.time = static_cast<double>(all) / device.bytes_per_second;
    ways.push_back(std::move(way));
  }
  return ways;
}

// Putting the fragments of the output together, the loss, and taking its gradient apart: a stage each. If there is one
// fragment, the loss reads and writes the tensors themselves. Its own time is not known.
StepWay way_of(const LossProblem& loss, const DeviceSpec& device) {
  StepWay way;
  const std::int64_t bytes = tensor_bytes(loss.output, {});
  const auto declare = [&](std::string name, std::int64_t size, int first, int last) {
    way.estimate.memory.push_back({std::move(name), MemorySpace::host, size, Lifetime::stages(first, last)});
  };
  const bool whole = loss.output.S == 1;
  declare(input_name(0), bytes, 0, 0);
  declare(std::string(output_name), bytes, whole ? 0 : 2, whole ? 0 : 2);
  if (whole) return way;
  const std::int64_t dense = tensor_bytes(loss.dense, {});
  declare(std::string(dense_output_name), dense, 0, 1);
  declare(std::string(dense_gradient_name), dense, 1, 2);
  way.seconds = 4.0 * static_cast<double>(bytes) / device.bytes_per_second;
  return way;
}

}  // namespace

Result<std::vector<StepWay>> step_ways(const StepWork& work, const StepParts& parts) {
  std::vector<StepWay> ways;
  std::string why;
  std::visit(Overloaded{[&](const LayerProblem& problem) {
                          for (const Primitive* primitive : parts.layers.primitives()) {
                            if (primitive->device == DeviceKind::cpu) {
                              describe_layer(problem, *primitive, parts, ways, why);
                            }
                          }
                        },
                        [&](const GradientProblem& problem) {
                          for (const GradientPrimitive* primitive : parts.gradients) {
                            describe_gradient(problem, *primitive, parts, ways, why);
                          }
                        },
                        [&](const LossProblem& loss) { ways.push_back(way_of(loss, parts.device)); },
                        [&](const PadProblem& pad) { ways = ways_of(pad, parts.device); }},
             work.problem);
  if (!ways.empty()) return ways;
  const auto* gradient = std::get_if<GradientProblem>(&work.problem);
  const std::string what = gradient != nullptr ? to_string(*gradient) : to_string(std::get<LayerProblem>(work.problem));
  return refused("no primitive here computes: " + what + (why.empty() ? "" : "; the last said: " + why));
}

const StepWay* Reorders::find(const Shape5& shape, Format from, Format to) {
  const ReorderProblem problem{shape, from, to};
  const auto [found, is_new] = known_.try_emplace(problem);
  if (is_new) {
    StepWork work;
    work.problem = LayerProblem(problem);
    const Result<std::vector<StepWay>> ways = step_ways(work, parts_);
    if (ways) {
      found->second = *std::min_element(ways->begin(), ways->end(),
                                        [](const StepWay& a, const StepWay& b) { return a.seconds < b.seconds; });
    }
  }
  return found->second ? &*found->second : nullptr;
}

namespace {

StepCall call_of(int node, const StepWay& way, StepProblem problem, std::vector<int> reads, int writes) {
  StepCall call;
  call.node = node;
  call.layer = way.layer;
  call.gradient = way.gradient;
  call.problem = std::move(problem);
  call.estimate = way.estimate;
  call.seconds = way.seconds;
  call.reads = std::move(reads);
  call.writes = writes;
  return call;
}

// Appends a reorder of a tensor to one that the line has already; false if there is none.
bool append_reorder(int node, int from, int to, Reorders& reorders, StepLine& line) {
  const PlacedTensor& read = line.tensors()[index(from)];
  const Format wanted = line.tensors()[index(to)].format;
  const StepWay* way = reorders.find(read.shape, read.format, wanted);
  if (way == nullptr) return false;
  line.add(call_of(node, *way, LayerProblem(ReorderProblem{read.shape, read.format, wanted}), {from}, to));
  return true;
}

// Returns the tensor in the format wanted: itself, or a copy that is made for this work. Nothing if there is no way.
std::optional<int> in_format(int node, int tensor, Format wanted, Reorders& reorders, StepLine& line) {
  const PlacedTensor own = line.tensors()[index(tensor)];
  if (own.format == wanted) return tensor;
  const int copy = line.add_tensor(own.name + "/reordered", own.shape, wanted);
  return append_reorder(node, tensor, copy, reorders, line) ? std::optional(copy) : std::nullopt;
}

}  // namespace

std::optional<Seconds> append(const StepWork& work, const StepWay& way, Reorders& reorders, StepLine& line) {
  const std::size_t first_call = line.calls().size();
  std::vector<int> reads;
  std::map<std::pair<int, Format>, int> copies;
  for (int i = 0; i < static_cast<int>(work.reads.size()); ++i) {
    const int tensor = work.reads[index(i)];
    const Format wanted = read_format(work.problem, i, way.estimate);
    auto [copy, is_new] = copies.try_emplace({tensor, wanted}, -1);
    if (is_new) {
      const std::optional<int> made = in_format(work.node, tensor, wanted, reorders, line);
      if (!made) return std::nullopt;
      copy->second = *made;
    }
    reads.push_back(copy->second);
  }
  int writes = work.writes;
  if (writes >= 0 && line.tensors()[index(writes)].format != way.estimate.out) {
    const PlacedTensor own = line.tensors()[index(writes)];
    writes = line.add_tensor(own.name + "/as written", own.shape, way.estimate.out);
  }
  StepCall call = call_of(work.node, way, work.problem, std::move(reads), writes);
  call.is_recomputed = work.is_recomputed;
  line.add(std::move(call));
  if (writes != work.writes && !append_reorder(work.node, writes, work.writes, reorders, line)) return std::nullopt;
  Seconds seconds = 0;
  for (std::size_t i = first_call; i < line.calls().size(); ++i) seconds += line.calls()[i].seconds;
  return seconds;
}

}  // namespace znni
