// What plans of the gradients of a convolution by spectra of tiles have in common.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "primitives/cpu/grad/weights_plans.hpp"

namespace znni::cpu::fft_tiled {

inline ConvProblem planned_conv(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 64, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {}};
}

// Expects two tilings of one batch, by rising seconds, then two of small batches, which need fewer bytes.
template <class SecondsOf, class BytesOf>
void expect_whole_and_small_batches(const std::vector<Tiling>& found, const SecondsOf& seconds, const BytesOf& bytes) {
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].batches(), 1);
  EXPECT_GT(found[2].batches(), 1);
  EXPECT_LE(seconds(found[0]), seconds(found[1]));
  EXPECT_LT(bytes(found[2]), bytes(found[0]));
}

// Expects that of(variant) gives back the tiling whose settings these are.
template <class Of>
void expect_given_back(const std::vector<Tiling>& tilings, const Of& of) {
  for (const Tiling& tiling : tilings) {
    const Tiling again = of(variant_of(tiling));
    EXPECT_EQ(again.T, tiling.T);
    EXPECT_EQ(again.stacks_per_batch, tiling.stacks_per_batch);
    EXPECT_EQ(again.lanes, tiling.lanes);
    EXPECT_EQ(again.problem.f_out, tiling.problem.f_out);
  }
}

}  // namespace znni::cpu::fft_tiled
