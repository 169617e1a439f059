#include "planner/network/operation_problem.hpp"

#include "planner/network/operations/all.hpp"

namespace znni {

LayerProblem problem_of(const Operation& operation, const NodeInputs& inputs) {
  return by_rules(operation,
                  [&](const auto& rules, const auto& own) -> LayerProblem { return rules.problem(own, inputs); });
}

}  // namespace znni
