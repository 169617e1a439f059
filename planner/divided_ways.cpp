#include "planner/divided_ways.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace znni {

DividedWays::DividedWays(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu, FastestWays& cpu,
                         Seconds below, Precision precision)
    : geometry_(geometry),
      catalogue_(catalogue),
      gpu_(gpu),
      cpu_(cpu),
      below_(below),
      rules_(rules_of(precision)),
      ways_(geometry.problems.size()) {}

// Reorders are the first primitive's that knows the formats.
PartRules DividedWays::rules_of(Precision precision) const {
  if (precision == Precision::fp32) return {};
  const ReorderProblem example{{1, 1, Vec3::cube(1)}, planar_f32, edge_formats(precision).back()};
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device == DeviceKind::gpu && primitive->describe(example, gpu_)) return {precision, primitive};
  }
  return {precision, nullptr};
}

const ConvProblem* DividedWays::convolution(int node) const {
  return std::get_if<ConvProblem>(&geometry_.problems[static_cast<std::size_t>(node)]);
}

Seconds DividedWays::least_seconds(int node) {
  const ConvProblem* const conv = convolution(node);
  if (conv == nullptr) {
    const Result<Step>& step = cpu_.get(geometry_.problems[static_cast<std::size_t>(node)]);
    return step ? step->seconds : std::numeric_limits<double>::infinity();
  }
  const AcceleratorSpec& link = gpu_.accelerator;
  const auto up = static_cast<double>(tensor_bytes(conv->in, {}));
  const auto down = static_cast<double>(tensor_bytes(output_shape(*conv), {}));
  return std::max({up / link.up.bytes_per_second, down / link.down.bytes_per_second,
                   (up + down) / link.duplex_bytes_per_second, (up + down) / link.staging_bytes_per_second});
}

DividedWays::Ways DividedWays::ways_of(const ConvProblem& conv) const {
  std::vector<DividedOption> good;
  Error reason{ErrorCode::unsupported, "no primitive of the GPU computes " + to_string(LayerProblem(conv))};
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device != DeviceKind::gpu || !takes_parts(conv, *primitive, gpu_)) continue;
    const Result<void> added = add_good_divisions(conv, *primitive, gpu_, below_, good, rules_);
    if (!added) reason = added.error();
  }
  put_fastest_first(good);
  return good.empty() ? Ways(std::move(reason)) : Ways(std::move(good));
}

Result<Step> DividedWays::fastest(int node, const SpaceBytes& budget) {
  const ConvProblem* const conv = convolution(node);
  if (conv == nullptr) {
    Result<Step> step = cpu_.get(geometry_.problems[static_cast<std::size_t>(node)]);
    if (step) step->node = node;
    return step;
  }
  std::optional<Ways>& ways = ways_[static_cast<std::size_t>(node)];
  if (!ways) ways = ways_of(*conv);
  if (!*ways) return ways->error();
  const Result<DividedOption> option = best_division(*conv, **ways, budget);
  if (!option) return option.error();
  const hybrid::DividedChoice& choice = option->choice;
  Step step = make_step(node, *choice.inner, option->estimate);
  step.in = choice.in;
  step.native = choice.out;
  if (choice.reorder != nullptr) step.reorder = choice.reorder->name;
  step.division = {choice.division};
  return step;
}

}  // namespace znni
