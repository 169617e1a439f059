#include "planner/network/operation_traits.hpp"

#include "planner/network/operations/all.hpp"

namespace znni {

OperationTraits traits_of(const Operation& operation) {
  return by_rules(operation, [](const auto& rules, const auto& own) { return rules.traits(own); });
}

Activation* fused_activation(Operation& operation) {
  return std::visit([]<class Own>(Own& own) { return OperationRules<Own>::fused(own); }, operation);
}

}  // namespace znni
