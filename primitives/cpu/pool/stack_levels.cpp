#include "primitives/cpu/pool/stack_levels.hpp"

#include <algorithm>

namespace znni::cpu {
namespace {

// Returns whether the stage can be computed with the level before it.
bool joins(const StackStage& stage, const StackLevel& level) {
  if (stage.operation == StackOperation::pool || level.activation.kind != ActivationKind::none) return false;
  return stage.operation == StackOperation::activation || level.scale < 0;
}

StackLevel begun_by(const StackStage& stage, Vec3 closed, Vec3 in) {
  StackLevel level;
  level.is_pooling = stage.operation == StackOperation::pool;
  if (level.is_pooling) level.pool = stage;
  level.closed = closed;
  level.in = in;
  level.out = extent_behind(level.pool, closed, in);
  return level;
}

StackBox box_of(Vec3 n, Vec3 start, Vec3 whole) { return {max(Vec3{}, Vec3{} - start), min(n, whole - start)}; }

}  // namespace

std::vector<StackLevel> levels_of(const StackProblem& stack) {
  std::vector<StackLevel> levels;
  std::int64_t scales = 0;
  for (const StackStage& stage : stack.stages) {
    if (levels.empty() || !joins(stage, levels.back())) {
      levels.push_back(begun_by(stage, stack.closed, levels.empty() ? stack.in.n : levels.back().out));
    }
    if (stage.operation == StackOperation::scale_shift) levels.back().scale = scales++;
    if (stage.operation == StackOperation::activation) levels.back().activation = stage.activation;
  }
  return levels;
}

std::vector<std::span<const StackLevel>> chunks_of(std::span<const StackLevel> levels, std::int64_t depth) {
  std::vector<std::span<const StackLevel>> chunks;
  std::size_t first = 0;
  std::int64_t poolings = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].is_pooling && poolings == depth) {
      chunks.push_back(levels.subspan(first, i - first));
      first = i;
      poolings = 0;
    }
    poolings += levels[i].is_pooling ? 1 : 0;
  }
  chunks.push_back(levels.subspan(first));
  return chunks;
}

std::int64_t poolings_of(std::span<const StackLevel> levels) {
  return std::count_if(levels.begin(), levels.end(), [](const StackLevel& level) { return level.is_pooling; });
}

std::vector<StackBox> own_boxes(std::span<const StackLevel> levels, Vec3 start, Vec3 whole) {
  std::vector<StackBox> boxes = {box_of(levels.front().in, start, whole)};
  for (const StackLevel& level : levels) {
    start = start + (Vec3::cube(1) - level.closed) * level.pool.before;
    whole = whole_behind(level.pool, whole);
    boxes.push_back(box_of(level.out, start, whole));
  }
  return boxes;
}

std::vector<StackBox> whole_boxes(std::span<const StackLevel> levels) {
  std::vector<StackBox> boxes = {{{}, levels.front().in}};
  for (const StackLevel& level : levels) boxes.push_back({{}, level.out});
  return boxes;
}

}  // namespace znni::cpu
