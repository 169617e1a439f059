#include "planner/costs/problem_hash.hpp"

#include <variant>

namespace znni {

std::size_t ProblemHash::operator()(const LayerProblem& problem) const {
  const std::size_t own = std::visit([]<class Own>(const Own& p) { return ProblemRules<Own>::hash(p); }, problem);
  return mixed(own, problem.index());
}

}  // namespace znni
