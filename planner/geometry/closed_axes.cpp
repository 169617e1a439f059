#include "planner/geometry/closed_axes.hpp"

#include <variant>

#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

Border operator-(const Border& a, const Border& b) { return {a.begin - b.begin, a.end - b.end}; }

Border along(const Border& border, Vec3 axes) { return {border.begin * axes, border.end * axes}; }

// Returns what a node leaves out of its first input where it does not compute `cut` of its own value. It leaves out
// padding that it makes itself, too.
Border cut_of_input(const Operation& operation, const Border& cut, Vec3 axes) {
  const Reading reading = reading_of(operation);
  const Vec3 step = step_of(reading);
  const Border passed = {reading.idle.begin + reading.padding.begin, reading.idle.end + reading.padding.end};
  return {cut.begin * step / reading.factor + passed.begin * axes, cut.end * step / reading.factor + passed.end * axes};
}

Border read_first(const Network& network, const ClosedAxes& closed, std::size_t node, Vec3 axes) {
  const Node& own = network.nodes[node];
  return closed.cuts[index(own.inputs.front())] - cut_of_input(own.operation, closed.cuts[node + 1], axes);
}

Error not_closed(int axis, const std::string& why) {
  return {ErrorCode::invalid_argument, "closed along " + std::string(1, "zyx"[axis]) + ", where " + why};
}

// Fails if a pooling is dense along the axis, or an upsampling is cut amid the voxels that it makes of one.
Result<void> check_operation(const Node& node, int axis) {
  const auto* pool = std::get_if<Pooling>(&node.operation);
  if (pool != nullptr && !pool->strided && pool->stride[axis] != 1)
    return not_closed(axis, "node " + node.name + " is dense");
  const Vec3 factor = reading_of(node.operation).factor;
  const Border& beyond = node.beyond;
  if (beyond.begin[axis] % factor[axis] == 0 && beyond.end[axis] % factor[axis] == 0) return {};
  return not_closed(axis, "node " + node.name + " reaches " + to_string(beyond.begin) + " and " +
                              to_string(beyond.end) + " voxels beyond the volume, not by whole voxels of its input, " +
                              to_string(factor));
}

// Fails if a value has a margin, and what is cut off there is not padding.
Result<void> check_margins(const Network& network, const ClosedAxes& closed) {
  if (closed.cuts.back() != Border{}) {
    return Error{ErrorCode::invalid_argument, "closed, and the output reaches beyond the volume"};
  }
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Border& margin = closed.margins[i + 1];
    const Border& cut = closed.cuts[i + 1];
    const Border& outside = network.nodes[i].outside;
    for (int axis = 0; axis < 3; ++axis) {
      const bool sound = (margin.begin[axis] == 0 || cut.begin[axis] <= outside.begin[axis]) &&
                         (margin.end[axis] == 0 || cut.end[axis] <= outside.end[axis]);
      if (!sound)
        return not_closed(axis, "the readers of node " + network.nodes[i].name + " read what does not pad it");
    }
  }
  return {};
}

}  // namespace

Result<void> check_closed(const Network& network, Vec3 axes) {
  const Vec3 padded = padded_axes(network);
  for (int axis = 0; axis < 3; ++axis) {
    if (axes[axis] == 0) continue;
    if (axes[axis] != 1) {
      return Error{ErrorCode::invalid_argument, "closed." + std::string(1, "zyx"[axis]) + " is 0 or 1"};
    }
    if (padded[axis] == 0) return not_closed(axis, "the network does not pad");
    for (const Node& node : network.nodes) {
      if (Result<void> sound = check_operation(node, axis); !sound) return sound;
    }
  }
  return axes == Vec3{} ? Result<void>() : check_margins(network, close_axes(network, axes));
}

std::string axes_text(Vec3 axes) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis) {
    if (axes[axis] != 0) text += "zyx"[axis];
  }
  return text;
}

Vec3 axes_cut(const ClosedAxes& closed) {
  Vec3 axes;
  for (const Border& cut : closed.cuts) axes = max(axes, max(cut.begin, cut.end));
  return min(axes, Vec3::cube(1));
}

ClosedAxes close_axes(const Network& network, Vec3 axes) {
  if (axes == Vec3{}) return {};
  ClosedAxes closed;
  closed.cuts.push_back(along(network.frame, axes));
  for (const Node& node : network.nodes) {
    closed.cuts.push_back(along({max(node.beyond.begin, {}), max(node.beyond.end, {})}, axes));
  }
  closed.margins.resize(closed.cuts.size());
  for (std::size_t node = 0; node < network.nodes.size(); ++node) {
    closed.reads.push_back(read_first(network, closed, node, axes));
    const std::vector<int>& inputs = network.nodes[node].inputs;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const Border read = read_beyond(closed, static_cast<int>(node), static_cast<int>(input), inputs[input]);
      Border& margin = closed.margins[index(inputs[input])];
      margin = {max(margin.begin, read.begin), max(margin.end, read.end)};
    }
  }
  // Zeros around the volume are read as its own voxels are.
  closed.cuts.front() = closed.cuts.front() - closed.margins.front();
  closed.margins.front() = {};
  for (std::size_t node = 0; node < network.nodes.size(); ++node) {
    closed.reads[node] = read_first(network, closed, node, axes);
  }
  return closed;
}

Border margin_of(const ClosedAxes& closed, int value) {
  return closed.margins.empty() ? Border{} : closed.margins[index(value)];
}

Border read_beyond(const ClosedAxes& closed, int node, int input, int value) {
  if (closed.cuts.empty()) return {};
  if (input == 0) return closed.reads[index(node)];
  return closed.cuts[index(value)] - closed.cuts[index(node) + 1];
}

}  // namespace znni
