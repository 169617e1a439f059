#include "primitives/core/refusals.hpp"

#include "primitives/core/last_text.hpp"

namespace znni {

Error refusal(std::string_view primitive, std::string_view computes, const LayerProblem& problem) {
  std::string text;
  text.reserve(160);
  text.append(primitive).append(" computes ").append(computes).append(", not: ").append(last_text(problem));
  return refused(std::move(text));
}

}  // namespace znni
