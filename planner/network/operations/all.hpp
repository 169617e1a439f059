// The rules of every Operation.
#pragma once

#include "planner/network/operations/across_channels.hpp"
#include "planner/network/operations/activate.hpp"
#include "planner/network/operations/add.hpp"
#include "planner/network/operations/add_volume.hpp"
#include "planner/network/operations/attention.hpp"
#include "planner/network/operations/concat.hpp"
#include "planner/network/operations/convolution.hpp"
#include "planner/network/operations/crop.hpp"
#include "planner/network/operations/divide.hpp"
#include "planner/network/operations/global_pool.hpp"
#include "planner/network/operations/multiply.hpp"
#include "planner/network/operations/norm.hpp"
#include "planner/network/operations/pooling.hpp"
#include "planner/network/operations/prelu.hpp"
#include "planner/network/operations/scale_shift.hpp"
#include "planner/network/operations/stack.hpp"
#include "planner/network/operations/upsample.hpp"

namespace znni {

// Returns what `ask` returns for the rules of the operation and the operation itself.
template <class Ask>
auto by_rules(const Operation& operation, const Ask& ask) {
  return std::visit([&]<class Own>(const Own& own) { return ask(OperationRules<Own>(), own); }, operation);
}

}  // namespace znni
