// Stacks of poolings and what follows them voxel by voxel: the problem and its rules.
#pragma once

#include <algorithm>
#include <vector>

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/pool.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

enum class StackOperation { pool, scale_shift, activation };

// One operation of a stack. Fields of another operation have the values that they begin with.
struct StackStage {
  StackOperation operation = StackOperation::pool;
  PoolKind kind = PoolKind::max;  // of a pooling: max or average; its stride is 1
  Vec3 window = Vec3::cube(1);    // of a pooling
  Vec3 before = {};               // voxels of padding that a pooling adds before the value that it reads
  Vec3 behind = {};               // and behind it
  Activation activation = {};     // of an activation

  constexpr auto operator<=>(const StackStage&) const = default;
};

// Stages in order, each of the value before. A value is a part of one over a whole volume, whose own voxels are
// [0, E). A pooling makes one of E + before + behind - (window - 1) voxels per axis: its own voxel j pools the voxels
// from j - before on. Those that are not own ones of the value before are padding: a max passes over them, an average
// counts them as zeros.
//
// Along axes that are closed the input has the whole value, from voxel 0 on, and so has the output. Along the others
// the input is a piece, and the output has window - 1 voxels less for each pooling. PreparedLayer::place() says where
// the piece lies, and how large the value is: along closed axes no larger than the tensor. Before that is called all
// voxels are own ones. Voxels of the output that are not own ones are zeros.
//
// LayerWeights::scale and shift hold f numbers for each stage that scales and shifts, one stage after the other.
struct StackProblem {
  Shape5 in;
  std::vector<StackStage> stages = {};
  Vec3 closed = {};  // 1 along axes that are closed, else 0

  auto operator<=>(const StackProblem&) const = default;
};

// Returns the extent of a stage's value over a whole volume, where that before has the extent `whole`.
[[nodiscard]] constexpr Vec3 whole_behind(const StackStage& stage, Vec3 whole) {
  return whole + stage.before + stage.behind - (stage.window - Vec3::cube(1));
}

// Returns the extent of what a stage writes, where it reads the extent n.
[[nodiscard]] constexpr Vec3 extent_behind(const StackStage& stage, Vec3 closed, Vec3 n) {
  return n + closed * (stage.before + stage.behind) - (stage.window - Vec3::cube(1));
}

// Returns the number of stages that scale and shift.
[[nodiscard]] inline std::int64_t scaled_stages(const StackProblem& stack) {
  return std::count_if(stack.stages.begin(), stack.stages.end(),
                       [](const StackStage& stage) { return stage.operation == StackOperation::scale_shift; });
}

template <>
struct ProblemRules<StackProblem> : RulesOfOneInput<StackProblem> {
  static bool has_scale(const StackProblem& stack) { return scaled_stages(stack) > 0; }

  static Vec3 window(const StackProblem& stack) {
    Vec3 window = Vec3::cube(1);
    for (const StackStage& stage : stack.stages) window = window + stage.window - Vec3::cube(1);
    return window;
  }

  static Shape5 output(const StackProblem& stack) {
    Shape5 shape = stack.in;
    for (const StackStage& stage : stack.stages) shape.n = extent_behind(stage, stack.closed, shape.n);
    return shape;
  }

  static Result<void> check(const StackProblem& stack) {
    if (Result<void> sound = check_shape(stack.in); !sound) return sound;
    if (stack.stages.empty()) return invalid_problem("a stack needs a stage");
    for (int axis = 0; axis < 3; ++axis) {
      if (stack.closed[axis] == 0 || stack.closed[axis] == 1) continue;
      return invalid_problem(axis_text("closed", axis) + " = " + std::to_string(stack.closed[axis]) + " is not 0 or 1");
    }
    Shape5 shape = stack.in;
    for (const StackStage& stage : stack.stages) {
      if (Result<void> sound = check_stage(stage); !sound) return sound;
      shape.n = extent_behind(stage, stack.closed, shape.n);
      if (Result<void> sound = check_shape(shape); !sound) return sound.error().within(stage_text(stage));
    }
    return {};
  }

  static double flops(const StackProblem& stack) {
    double sum = 0;
    Shape5 shape = stack.in;
    for (const StackStage& stage : stack.stages) {
      shape.n = extent_behind(stage, stack.closed, shape.n);
      sum += static_cast<double>(elements(shape)) * static_cast<double>(voxels(stage.window));
    }
    return sum;
  }

  static std::string text(const StackProblem& stack) {
    std::string text = "stack " + to_string(stack.in);
    if (stack.closed != Vec3{}) text += ", closed " + to_string(stack.closed);
    for (const StackStage& stage : stack.stages) text += ", " + stage_text(stage);
    return text;
  }

  static std::optional<StackProblem> parse(TextPieces pieces) {
    if (!pieces.take("stack ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    const std::optional<Vec3> closed = pieces.take(", closed ") ? pieces.extent() : Vec3{};
    if (!in || !closed) return std::nullopt;
    StackProblem stack{*in, {}, *closed};
    while (!pieces.is_empty()) {
      const std::optional<StackStage> stage = take_stage(pieces);
      if (!stage) return std::nullopt;
      stack.stages.push_back(*stage);
    }
    return stack;
  }

  static std::size_t hash(const StackProblem& stack) {
    std::size_t seed = hashed(hashed(0, stack.in), stack.closed);
    for (const StackStage& stage : stack.stages) {
      seed = hashed(hashed(seed, static_cast<std::int64_t>(stage.operation)), static_cast<std::int64_t>(stage.kind));
      seed = hashed(hashed(hashed(hashed(seed, stage.window), stage.before), stage.behind), stage.activation);
    }
    return seed;
  }

 private:
  static Result<void> check_stage(const StackStage& stage) {
    if (stage.operation != StackOperation::pool) {
      StackStage pointwise{stage.operation};
      if (stage.operation == StackOperation::activation) pointwise.activation = stage.activation;
      const bool is_sound = stage == pointwise && (stage.operation != StackOperation::activation ||
                                                   stage.activation.kind != ActivationKind::none);
      if (!is_sound) return invalid_problem("a stage of a stack that is no pooling has no window, one activation");
      return {};
    }
    if (stage.kind == PoolKind::average_inside || stage.activation != Activation{}) {
      return invalid_problem("a stack has max and average poolings without an activation");
    }
    if (Result<void> sound = check_positive("window", stage.window); !sound) return sound;
    const Vec3 least = min(stage.before, stage.behind);
    if (covers(least, Vec3{}) && covers(stage.window - Vec3::cube(1), max(stage.before, stage.behind))) return {};
    return invalid_problem("padding of " + to_string(stage.before) + " before and " + to_string(stage.behind) +
                           " behind is not in [0, window), window " + to_string(stage.window));
  }

  static std::string stage_text(const StackStage& stage) {
    if (stage.operation == StackOperation::scale_shift) return "scale and shift";
    if (stage.operation == StackOperation::activation) {
      const std::string text = activation_text(stage.activation);
      return text.empty() ? "no activation" : text.substr(2);
    }
    std::string text(pooling_words(stage.kind));
    text.append(" ").append(to_string(stage.window));
    if (stage.before == Vec3{} && stage.behind == Vec3{}) return text;
    return text.append(" padded ").append(to_string(stage.before)).append(" ").append(to_string(stage.behind));
  }

  static std::optional<StackStage> take_stage(TextPieces& pieces) {
    if (pieces.take(", scale and shift")) return StackStage{StackOperation::scale_shift};
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
      if (pieces.take(", " + std::string(pooling_words(kind)) + " ")) return take_pooling(pieces, kind);
    }
    const std::optional<Activation> activation = pieces.activation();
    if (!activation) return std::nullopt;
    StackStage stage{StackOperation::activation};
    stage.activation = *activation;
    return stage;
  }

  static std::optional<StackStage> take_pooling(TextPieces& pieces, PoolKind kind) {
    const std::optional<Vec3> window = pieces.extent();
    if (!window) return std::nullopt;
    StackStage stage{StackOperation::pool, kind, *window};
    if (!pieces.take(" padded ")) return stage;
    const std::optional<Vec3> before = pieces.extent();
    if (!before || !pieces.take(" ")) return std::nullopt;
    const std::optional<Vec3> behind = pieces.extent();
    if (!behind) return std::nullopt;
    stage.before = *before;
    stage.behind = *behind;
    return stage;
  }
};

}  // namespace znni
