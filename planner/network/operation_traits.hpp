// Facts of operations: what passes, padding and reports ask of every one. How an operation reads is in
// planner/network/reading.hpp, what is right for it in planner/network/operation_check.hpp.
#pragma once

#include <optional>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// The origin of a value that an operation writes.
enum class Origin {
  affine,   // of the one value at its place, times a factor of the channel, plus another
  element,  // of the one value at its place
  voxel,    // of all channels of the voxel at its place
  copied,   // it is a value of the only input, in the same channel
  other     // of several voxels, or of several inputs
};

// The words for what an operation does with all voxels of its input, in the words of "would ... them" and of "... all
// voxels of its window"; empty if it does nothing with all of them.
struct AllVoxels {
  std::string_view would;
  std::string_view does;
};

struct OperationTraits {
  std::string_view kind;                 // second word of the names of its primitives: "conv" of cpu.conv.direct
  std::string_view noun;                 // in tables: "max pooling"
  Origin origin;                         // of its values
  bool passes_numbers_on;                // a number of a channel that it reads may be one that it writes
  std::optional<OutsideKind> pads_with;  // nothing: it cannot pad
  AllVoxels over_all;
};

[[nodiscard]] OperationTraits traits_of(const Operation& operation);

// Returns where the operation keeps an activation that is fused into it; nullptr if it takes none.
[[nodiscard]] Activation* fused_activation(Operation& operation);

}  // namespace znni
