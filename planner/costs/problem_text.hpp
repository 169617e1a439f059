// Reads what to_string(LayerProblem) writes.
#pragma once

#include <string_view>

#include "primitives/core/problem.hpp"

namespace znni {

// Reads "conv 1x80x48x48x48 -> 80, k 5x5x5, relu" and the like: to_string() of the result gives the same text. The
// error says how the text should read, or what is wrong with the problem (check()).
[[nodiscard]] Result<LayerProblem> parse_problem(std::string_view text);

}  // namespace znni
