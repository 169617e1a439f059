// Stacks between views of the core as launches of the kernel: which links each of them takes, and in which tiles.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/problem.hpp"
#include "primitives/gpu/stack_element.hpp"

namespace znni::cuda {

// The links of one launch, of what has the shape `in`.
struct StackChunk {
  int first = 0;
  int count = 1;
  Shape5 in;
  Shape5 out;
  Extent tile;
  int channels = 1;
  int buffer = 0;  // as StackArg::buffer
};

// Where the inputs of a stack lie, as PreparedLayer::place() says; no starts: every voxel is inside.
struct StackStarts {
  std::vector<Vec3> starts;
  Vec3 whole;
};

// Returns the number of poolings with what follows each of them; a stage that follows none counts as one.
[[nodiscard]] int stack_links(const StackProblem& stack);

// Returns launches of at most `depth` links, in order. Returns none if a block's memory does not hold a tile of so
// many; with depth 1 there are always some.
[[nodiscard]] std::vector<StackChunk> stack_chunks(const StackProblem& stack, int depth, Layout layout);

// Returns the bytes of a block's memory.
[[nodiscard]] int shared_bytes(const StackChunk& chunk);

// Returns how many floats a launch loads from a block's memory or stores there, or reads from the tensor.
[[nodiscard]] double stack_accesses(const StackProblem& stack, const StackChunk& chunk);

// Returns the kernel's argument for inputs [first_s, first_s + S) of a chunk, at most max_stack_starts if they have
// starts. Weights are those of the whole stack, in the kernel's memory.
struct StackWeights {
  const float* scale = nullptr;
  const float* shift = nullptr;
};
[[nodiscard]] StackArg stack_arg(const StackProblem& stack, const StackChunk& chunk, const StackStarts& placed,
                                 const StackWeights& weights, std::int64_t first_s);

}  // namespace znni::cuda
