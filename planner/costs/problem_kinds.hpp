// Families and classes of problems (planner/costs/problem_family.hpp), worked out once for all convolutions that differ
// in extents and batch alone. A search asks for those of millions.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "primitives/core/problem.hpp"

namespace znni {

class ProblemKinds {
 public:
  struct Kind {
    std::string family;
    std::string kernel;  // problem_class()
  };

  // Calls use(kind of `problem`) and returns what that does. Any thread may call it.
  template <class Use>
  auto with_kind_of(const LayerProblem& problem, const Use& use) const {
    if (const auto* conv = std::get_if<ConvProblem>(&problem)) return use(known(*conv));
    return use(make(problem));
  }

 private:
  [[nodiscard]] static Kind make(const LayerProblem& problem);
  const Kind& known(ConvProblem conv) const;

  mutable std::mutex mutex_;
  mutable std::map<ConvProblem, Kind> convolutions_;  // of no extents; entries stay
};

}  // namespace znni
