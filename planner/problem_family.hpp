// Problems that differ in their extents and batch alone: formulas err alike for them.
#pragma once

#include <string>
#include <string_view>

namespace znni {

// The text of a problem (to_string(LayerProblem)) with every shape SxfxZxYxX reduced to its f:
// "conv 1x80x48x48x48 -> 80, k 5x5x5, relu" gives "conv 80 -> 80, k 5x5x5, relu".
[[nodiscard]] std::string problem_family(std::string_view problem);

}  // namespace znni
