#include "tests/oracle/stacks.hpp"

#include <algorithm>
#include <limits>

namespace znni::oracle {
namespace {

constexpr std::int64_t far = std::int64_t{1} << 40;

// A box of voxels of one input's tensor, `end` excluded.
struct Box {
  Vec3 begin;
  Vec3 end;

  [[nodiscard]] bool holds(Vec3 v) const { return covers(v, begin) && covers(end - Vec3::cube(1), v); }
};

Vec3 voxel_of(Vec3 n, std::int64_t index) { return {index / n.x / n.y, index / n.x % n.y, index % n.x}; }

// One channel of one input.
struct Channel {
  Vec3 n;
  Values values;

  [[nodiscard]] double at(Vec3 v) const { return values[static_cast<std::size_t>((v.z * n.y + v.y) * n.x + v.x)]; }
};

// Pools the window that begins at `start`; `own` are the voxels that are no padding.
double pooled(const StackStage& stage, const Channel& in, const Box& own, Vec3 start) {
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < voxels(stage.window); ++i) {
    const Vec3 v = start + voxel_of(stage.window, i);
    if (!own.holds(v)) continue;
    most = std::max(most, in.at(v));
    sum += in.at(v);
    ++count;
  }
  if (stage.kind == PoolKind::average) return sum / static_cast<double>(voxels(stage.window));
  return count == 0 ? 0.0 : most;
}

Channel pooled(const StackStage& stage, Vec3 closed, const Channel& in, const Box& own) {
  Channel out{extent_behind(stage, closed, in.n), {}};
  for (std::int64_t i = 0; i < voxels(out.n); ++i) {
    out.values.push_back(pooled(stage, in, own, voxel_of(out.n, i) - closed * stage.before));
  }
  return out;
}

// Where an input's tensor lies: voxel 0 of it is voxel `start` of a value of extent `whole`.
struct Placed {
  Vec3 start;
  Vec3 whole;

  [[nodiscard]] Box own(Vec3 n) const { return {max(Vec3{}, Vec3{} - start), min(n, whole - start)}; }
};

Values channel_of(const StackProblem& stack, Channel channel, const LayerWeights& weights, std::int64_t f,
                  Placed placed) {
  auto scaled = static_cast<std::size_t>(f);
  for (const StackStage& stage : stack.stages) {
    if (stage.operation == StackOperation::pool) {
      channel = pooled(stage, stack.closed, channel, placed.own(channel.n));
      placed.start = placed.start + (Vec3::cube(1) - stack.closed) * stage.before;
      placed.whole = whole_behind(stage, placed.whole);
    }
    for (double& value : channel.values) {
      if (stage.operation == StackOperation::activation) value = apply_exactly(stage.activation, value);
      if (stage.operation != StackOperation::scale_shift) continue;
      value = static_cast<double>(weights.scale[scaled]) * value + static_cast<double>(weights.shift[scaled]);
    }
    if (stage.operation == StackOperation::scale_shift) scaled += static_cast<std::size_t>(stack.in.f);
  }
  for (std::int64_t i = 0; i < voxels(channel.n); ++i) {
    if (!placed.own(channel.n).holds(voxel_of(channel.n, i))) channel.values[static_cast<std::size_t>(i)] = 0;
  }
  return channel.values;
}

// Returns where input s lies. Without starts everything is inside; a closed axis is then the whole value.
Placed placed_at(const StackProblem& stack, std::span<const Vec3> starts, Vec3 whole, std::int64_t s) {
  Placed placed{{}, stack.in.n};
  for (int axis = 0; axis < 3; ++axis) {
    if (stack.closed[axis] == 1) {
      if (!starts.empty()) placed.whole[axis] = whole[axis];
      continue;
    }
    placed.start[axis] = starts.empty() ? far : starts[static_cast<std::size_t>(s)][axis];
    placed.whole[axis] = starts.empty() ? 3 * far : whole[axis];
  }
  return placed;
}

}  // namespace

Values stacked(const StackProblem& stack, const Values& in, const LayerWeights& weights, std::span<const Vec3> starts,
               Vec3 whole) {
  Values out;
  const std::int64_t count = voxels(stack.in.n);
  for (std::int64_t i = 0; i < stack.in.S * stack.in.f; ++i) {
    const auto first = in.begin() + i * count;
    const Values made = channel_of(stack, {stack.in.n, {first, first + count}}, weights, i % stack.in.f,
                                   placed_at(stack, starts, whole, i / stack.in.f));
    out.insert(out.end(), made.begin(), made.end());
  }
  return out;
}

}  // namespace znni::oracle
