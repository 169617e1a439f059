// Problems that differ in their extents and batch alone: formulas err alike for them.
#pragma once

#include <string>
#include <string_view>

namespace znni {

// Returns the text of a problem (to_string(LayerProblem)) with every shape SxfxZxYxX reduced to its f:
// "conv 1x80x48x48x48 -> 80, k 5x5x5, relu" gives "conv 80 -> 80, k 5x5x5, relu".
// The number of fragments that earlier poolings made is left out, too: "max pool 80, window 2x2x2, stride 2x2x2,
// fragments".
[[nodiscard]] std::string problem_family(std::string_view problem);

// Returns what problems of several families have in common, the operation and its window: "conv k 5x5x5", "max pool
// window 2x2x2", "softmax".
[[nodiscard]] std::string problem_class(std::string_view problem);

}  // namespace znni
