// Eight floats in two registers of NEON.
#pragma once

#include "primitives/cpu/vectors/split_vectors.hpp"

namespace znni::cpu {

struct Eight : SplitVectors<PlainVectors<4>> {};

}  // namespace znni::cpu
