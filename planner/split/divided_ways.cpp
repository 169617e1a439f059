#include "planner/split/divided_ways.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace znni {

DividedWays::DividedWays(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu, FastestWays& cpu,
                         LeastDividedTimes& known, Seconds below, Precision precision,
                         const std::function<bool()>& stop)
    : geometry_(geometry),
      catalogue_(catalogue),
      gpu_(gpu),
      cpu_(cpu),
      known_(known),
      below_(below),
      rules_(rules_of(precision, stop)),
      divisions_(geometry.problems.size()) {
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device == DeviceKind::gpu) on_gpu_.push_back(primitive);
  }
}

// Reorders are the first primitive's that knows the formats.
SubLayerRules DividedWays::rules_of(Precision precision, const std::function<bool()>& stop) const {
  if (precision == Precision::fp32) return {precision, nullptr, stop};
  const ReorderProblem example{{1, 1, Vec3::cube(1)}, planar_f32, edge_formats(precision).back()};
  for (const Primitive* primitive : catalogue_.primitives()) {
    if (primitive->device == DeviceKind::gpu && primitive->describe(example, gpu_)) return {precision, primitive, stop};
  }
  return {precision, nullptr, stop};
}

const ConvProblem* DividedWays::convolution(int node) const {
  return std::get_if<ConvProblem>(&geometry_.problems[static_cast<std::size_t>(node)]);
}

Seconds DividedWays::copy_seconds(int node) {
  const ConvProblem* const conv = convolution(node);
  if (conv == nullptr) {
    const Result<LayerWay>& step = cpu_.get(geometry_.problems[static_cast<std::size_t>(node)]);
    return step ? step->seconds : std::numeric_limits<double>::infinity();
  }
  const AcceleratorSpec& link = gpu_.accelerator;
  const auto up = static_cast<double>(tensor_bytes(conv->in, {}));
  const auto down = static_cast<double>(tensor_bytes(output_shape(*conv), {}));
  return std::max({up / link.up.bytes_per_second, down / link.down.bytes_per_second,
                   (up + down) / link.duplex_bytes_per_second, (up + down) / link.staging_bytes_per_second});
}

DivisionSearch& DividedWays::divisions_of(int node) {
  std::optional<DivisionSearch>& known = divisions_[static_cast<std::size_t>(node)];
  if (!known) known.emplace(*convolution(node), on_gpu_, gpu_, rules_, below_);
  return *known;
}

Seconds DividedWays::min_seconds(int node) {
  return convolution(node) == nullptr ? copy_seconds(node) : min_divided(node);
}

// Returns what is known, where that was asked for times of at least `below_`, or what all divisions tell.
Seconds DividedWays::min_divided(int node) {
  const auto known = known_.find(*convolution(node));
  const bool is_known =
      known != known_.end() && (std::isfinite(known->second.seconds) || below_ <= known->second.below);
  if (is_known)
    return known->second.seconds < below_ ? known->second.seconds : std::numeric_limits<Seconds>::infinity();
  const Seconds least = divisions_of(node).min_seconds();
  if (!(rules_.stop && rules_.stop())) known_[*convolution(node)] = {least, below_};
  return least;
}

Result<Step> DividedWays::fastest(int node, const SpaceBytes& budget, Seconds below) {
  if (convolution(node) == nullptr) {
    const Result<LayerWay>& way = cpu_.get(geometry_.problems[static_cast<std::size_t>(node)]);
    if (!way) return way.error();
    Step step = *way;
    step.node = node;
    return step;
  }
  const Result<DividedOption> option = divisions_of(node).fastest(budget, below);
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
