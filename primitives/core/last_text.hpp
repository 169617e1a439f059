// The text of a problem that many primitives refuse, one after the other, as they do in a search.
#pragma once

#include <string>

#include "primitives/core/problem.hpp"

namespace znni {

// Returns to_string(problem), which is valid until this thread asks for the text of another problem. It takes almost no
// time to ask for the same again.
[[nodiscard]] const std::string& last_text(const LayerProblem& problem);

}  // namespace znni
