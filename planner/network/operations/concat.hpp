// Rules of concatenations of channels.
#pragma once

#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<Concat> : RulesOfOneVoxel<Concat> {
  static constexpr InputCounts inputs = two_or_more;

  static OperationTraits traits(const Concat&) {
    return {"concat", "concatenation", Origin::other, true, std::nullopt, {}};
  }

  static std::int64_t channels(const Concat&, const std::vector<int>& read, const std::vector<std::int64_t>& channels) {
    std::int64_t sum = 0;
    for (const int input : read) sum = add(sum, channels[index(input)]);
    return sum;
  }

  static ConcatProblem problem(const Concat&, const NodeInputs& in) { return {in.shapes}; }

  static std::string text(const Concat&, std::int64_t, bool) { return "concat"; }
};

}  // namespace znni
