// Simd8 floats in two registers of NEON.
#pragma once

#include "primitives/cpu/vectors/split_vectors.hpp"

namespace znni::cpu {

struct Simd8 : SplitVectors<PlainVectors<4>> {};

}  // namespace znni::cpu
