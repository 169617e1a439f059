// Pieces that the texts of several operations share.
#pragma once

#include <string>
#include <vector>

#include "primitives/core/problems/stack.hpp"
#include "primitives/core/problems/text_pieces.hpp"

namespace znni {

// Returns ", epsilon 0.001" or the like; empty for the usual one.
[[nodiscard]] std::string epsilon_text(float epsilon);

// Returns "max pool 3x3x3 padded 1x1x1 1x1x1, scale and shift, relu"; where all stages repeat some, these and how
// often: "10 x (max pool 3x3x3, relu)".
[[nodiscard]] std::string stages_text(const std::vector<StackStage>& stages);

}  // namespace znni
