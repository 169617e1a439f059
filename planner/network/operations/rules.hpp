// The rules of an operation: OperationRules<Crop>, in a file of its own. All that asks something of every operation
// asks them, so that an operation without rules does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "planner/network/network_weights.hpp"
#include "planner/network/operation_check.hpp"
#include "planner/network/operation_problem.hpp"
#include "planner/network/operation_traits.hpp"
#include "planner/network/operations/bounds.hpp"
#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"

namespace znni {

// Numbers of inputs that are right, and the words for them.
struct InputCounts {
  std::size_t least = 1;
  std::size_t most = 1;
  std::string_view words = "1";
};
inline constexpr InputCounts two_or_more = {2, std::numeric_limits<std::size_t>::max(), "2 or more"};

// Each operation specialises it with the functions of RulesOfOneVoxel and
//   static OperationTraits traits(const Operation&);
//   static LayerProblem problem(const Operation&, const NodeInputs&);           as problem_of() says, of its own kind
//   static std::string text(const Operation&, std::int64_t f, bool residual);   as describe() says, of f channels read
template <class Own>
struct OperationRules;

// The answers of an operation that makes each voxel of one of its only input, in as many channels, without weights. An
// operation that differs in one of them has that function itself.
template <class Own>
struct RulesOfOneVoxel {
  static constexpr InputCounts inputs = {};
  static Reading reading(const Own&) { return {}; }
  static Result<void> check(const Own&, int) { return {}; }
  static Result<void> check_meeting(const Own&, std::span<const InputValue> inputs) {
    for (const InputValue& other : inputs) {
      if (Result<void> meet = check_reaches_meet(inputs.front(), other); !meet) return meet;
    }
    return {};
  }
  // Returns the number of channels that the node writes. `channels`: those of every value before the node's.
  static std::int64_t channels(const Own&, const std::vector<int>& read, const std::vector<std::int64_t>& channels) {
    return channels[index(read.front())];
  }
  static WeightSizes weights(const Own&, std::int64_t) { return {}; }
  static Activation* fused(Own&) { return nullptr; }
  static void swap_own_axes(Own&, int) {}
};

}  // namespace znni
