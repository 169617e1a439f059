// Compares the tasks of one instruction set with plain transforms in double precision. kernels_check.cpp holds the
// tests; kernels_<instruction set>_test.cpp instantiates them.
#pragma once

#include <gtest/gtest.h>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

// The parameter: lanes of a vector.
class KernelsCheck : public testing::TestWithParam<int> {
 protected:
  void SetUp() override;
  const TileKernels* kernels_ = nullptr;
};

}  // namespace znni::cpu::fft_tiled
