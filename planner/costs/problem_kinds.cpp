#include "planner/costs/problem_kinds.hpp"

#include "planner/costs/problem_family.hpp"

namespace znni {

ProblemKinds::Kind ProblemKinds::make(const LayerProblem& problem) {
  const std::string text = to_string(problem);
  return {problem_family(text), problem_class(text)};
}

const ProblemKinds::Kind& ProblemKinds::known(ConvProblem conv) const {
  conv.in.S = 0;
  conv.in.n = {};
  conv.before = {};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = convolutions_.find(conv);
  return found != convolutions_.end() ? found->second : convolutions_.emplace(conv, make(conv)).first->second;
}

}  // namespace znni
