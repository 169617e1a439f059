// Pieces that the texts of several operations share.
#pragma once

#include <string>

#include "primitives/core/problems/text_pieces.hpp"

namespace znni {

// Returns ", epsilon 0.001" or the like; empty for the usual one.
[[nodiscard]] std::string epsilon_text(float epsilon);

}  // namespace znni
