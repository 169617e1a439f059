#include "primitives/core/last_text.hpp"

#include <optional>

namespace znni {

const std::string& last_text(const LayerProblem& problem) {
  thread_local std::optional<LayerProblem> last;
  thread_local std::string text;
  if (last != problem) {
    text = to_string(problem);
    last = problem;
  }
  return text;
}

}  // namespace znni
