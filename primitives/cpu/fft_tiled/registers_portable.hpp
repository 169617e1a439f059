// Blocks of 8 channels in two registers of 4 floats, and the register block of their products. 6 x 2 accumulators, 2
// weights and one value of a tile take 29 of the 32 registers of an Arm processor. `Four` is a type of the including
// file, as registers_avx512.hpp says: transforms are compiled for single registers.
#pragma once

#include "primitives/cpu/vectors/split_vectors.hpp"

namespace znni::cpu::fft_tiled {

template <class Four>
struct PortableRegisters : SplitVectors<Four> {
  static constexpr int gemm_rows = 6;
  static constexpr int gemm_vectors = 2;
};

}  // namespace znni::cpu::fft_tiled
