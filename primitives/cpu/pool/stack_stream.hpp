// Takes the rows of a block of channels through the levels of a stack (stack_flow.hpp).
#pragma once

#include <span>

#include "primitives/core/tensor.hpp"
#include "primitives/cpu/pool/stack_flow.hpp"
#include "primitives/cpu/pool/stack_rows.hpp"

namespace znni::cpu {

// A block of channels, which lie side by side; one channel of a planar tensor.
struct StackBlock {
  const TensorView& in;
  const TensorView& out;
  std::int64_t s = 0;
  std::int64_t first = 0;         // channel
  std::span<const StackBox> own;  // of what is read and of what each level writes
  std::span<const float> scale;   // LayerWeights
  std::span<const float> shift;
};

// Computes a part of the output. `memory`: flow.floats floats.
void stream_stack(const PartFlow& flow, const StackBlock& block, const StackKernels& kernels, float* memory);

}  // namespace znni::cpu
