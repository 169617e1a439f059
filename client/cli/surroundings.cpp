#include "client/cli/surroundings.hpp"

#include <algorithm>

namespace znni::client {
namespace {

struct Span {
  std::int64_t start = 0;
  std::int64_t stop = 0;
};

// Returns `number` mod `period`, which is 0 or more for negative numbers, too.
std::int64_t phase_of(std::int64_t number, std::int64_t period) { return (number % period + period) % period; }

// Returns the next multiple of `period` from `number` on.
std::int64_t up_to_period(std::int64_t number, std::int64_t period) { return number + phase_of(-number, period); }

// Returns what is given along one axis to a network that pads or has strides, or does neither.
Span span_along(int axis, const Box& region, std::int64_t n, const ModelFacts& model) {
  const std::int64_t period = model.period[axis];
  const std::int64_t reach = model.field_of_view[axis] - 1;
  const std::int64_t least = model.min_extent[axis];
  const std::int64_t first = std::min(region.start[axis], std::max<std::int64_t>(n - least, 0));
  const std::int64_t aligned = first - phase_of(first, period);
  const std::int64_t end = region.stop[axis] + phase_of(n - reach - region.stop[axis], period);
  const std::int64_t lacking = std::max<std::int64_t>(aligned + least - (end + reach), 0);
  const std::int64_t stop = end + up_to_period(lacking, period) + reach + model.padding_after[axis];
  return {std::max<std::int64_t>(aligned - up_to_period(model.padding_before[axis], period), 0),
          std::min(stop + phase_of(n - stop, period), n)};
}

// Returns what is given along one axis to a network that is bound to its window: the windows of which the region has a
// voxel. They begin at multiples of the step, the last one as far as the volume goes.
Span windows_along(int axis, const Box& region, std::int64_t n, const ModelFacts& model) {
  const std::int64_t reach = model.field_of_view[axis] - 1;
  const std::int64_t window = model.window[axis] - reach;
  const std::int64_t final = n - reach - window;  // where the last window begins
  if (final <= 0) return {0, n};
  const double apart = static_cast<double>(window) * (1.0 - model.window_overlap);
  const std::int64_t step = std::max<std::int64_t>(static_cast<std::int64_t>(apart), 1);
  const std::int64_t reaching = std::max<std::int64_t>(up_to_period(region.start[axis] - window + 1, step), 0);
  const std::int64_t stop = region.stop[axis];
  const std::int64_t last = final < stop ? final : up_to_period(stop, step) - step;
  return {std::min(reaching, final), last + window + reach};
}

}  // namespace

Box read_for(const Box& region, Vec3 volume, const ModelFacts& model) {
  Box given;
  for (int axis = 0; axis < 3; ++axis) {
    const Span span = model.window == Vec3{} ? span_along(axis, region, volume[axis], model)
                                             : windows_along(axis, region, volume[axis], model);
    given.start[axis] = span.start;
    given.stop[axis] = span.stop;
  }
  return given;
}

}  // namespace znni::client
