// The levels of a stack: a pooling with what is computed in the same pass over its rows.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// A pooling, then a scale and a shift, then an activation. Without a pooling the window is a voxel; what else is
// lacking changes nothing.
struct StackLevel {
  StackStage pool;
  bool is_pooling = false;
  std::int64_t scale = -1;  // which of the stack's scales and shifts; -1: none
  Activation activation;
  Vec3 closed;
  Vec3 in;  // extents of what is read and written
  Vec3 out;

  // Returns the voxels of padding before and behind what is read, of which the tensor has none.
  [[nodiscard]] Vec3 before() const { return closed * pool.before; }
  [[nodiscard]] Vec3 behind() const { return closed * pool.behind; }
};

// Returns the levels, which together have the stack's stages.
[[nodiscard]] std::vector<StackLevel> levels_of(const StackProblem& stack);

// Returns the levels in chunks of `depth` poolings.
[[nodiscard]] std::vector<std::span<const StackLevel>> chunks_of(std::span<const StackLevel> levels,
                                                                 std::int64_t depth);

[[nodiscard]] std::int64_t poolings_of(std::span<const StackLevel> levels);

// A box of voxels, `end` excluded.
struct StackBox {
  Vec3 begin;
  Vec3 end;
};

// Returns the own voxels of what the first level reads and of what each writes. The first tensor begins at voxel
// `start` of a value of extent `whole` (PreparedLayer::place()), which is 0 along closed axes.
[[nodiscard]] std::vector<StackBox> own_boxes(std::span<const StackLevel> levels, Vec3 start, Vec3 whole);
// Returns the same where every voxel is one.
[[nodiscard]] std::vector<StackBox> whole_boxes(std::span<const StackLevel> levels);

}  // namespace znni::cpu
