// The emulation's matrix unit against the definition of a product, and what it does to numbers.
#include "tests/cuda_emulation/mma.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "tests/support/random.hpp"

namespace znni::cuda_emulation {
namespace {

// Matrices as rows: 16 x 8, 8 x 8, 16 x 8.
struct Matrices {
  std::array<std::array<float, 8>, 16> a{};
  std::array<std::array<float, 8>, 8> b{};
  std::array<std::array<float, 8>, 16> d{};
};

// The registers of PTX ISA's figures of .m16n8k8, .tf32, lane by lane: row and column of a0, of b0 and of c0. Those of
// the others lie 8 rows (a1, a3, c2, c3), 4 columns (a2, a3), 4 rows (b1) or a column (c1, c3) further.
void run(Matrices& matrices) {
  std::array<std::array<float, 4>, lanes_of_warp> a{};
  std::array<std::array<float, 2>, lanes_of_warp> b{};
  std::array<std::array<float, 4>, lanes_of_warp> d{};
  std::array<MmaRegisters, lanes_of_warp> warp{};
  std::size_t lane = 0;
  for (std::size_t eighth = 0; eighth < 8; ++eighth) {
    for (std::size_t in_group = 0; in_group < 4; ++in_group, ++lane) {
      a[lane] = {matrices.a[eighth][in_group], matrices.a[eighth + 8][in_group], matrices.a[eighth][in_group + 4],
                 matrices.a[eighth + 8][in_group + 4]};
      b[lane] = {matrices.b[in_group][eighth], matrices.b[in_group + 4][eighth]};
      d[lane] = {matrices.d[eighth][2 * in_group], matrices.d[eighth][2 * in_group + 1],
                 matrices.d[eighth + 8][2 * in_group], matrices.d[eighth + 8][2 * in_group + 1]};
      warp[lane] = {a[lane].data(), b[lane].data(), d[lane].data()};
    }
  }
  mma_m16n8k8(warp);
  lane = 0;
  for (std::size_t eighth = 0; eighth < 8; ++eighth) {
    for (std::size_t in_group = 0; in_group < 4; ++in_group, ++lane) {
      matrices.d[eighth][2 * in_group] = d[lane][0];
      matrices.d[eighth][2 * in_group + 1] = d[lane][1];
      matrices.d[eighth + 8][2 * in_group] = d[lane][2];
      matrices.d[eighth + 8][2 * in_group + 1] = d[lane][3];
    }
  }
}

TEST(EmulatedMma, MultipliesAndAdds) {
  test::Random random(1);
  Matrices matrices;
  const auto whole = [&] { return static_cast<float>(random.integer(-1000, 1000)); };
  for (auto& row : matrices.a) {
    for (float& value : row) value = whole();
  }
  for (auto& row : matrices.b) {
    for (float& value : row) value = whole();
  }
  for (auto& row : matrices.d) {
    for (float& value : row) value = whole();
  }
  Matrices found = matrices;
  run(found);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      float expected = matrices.d[row][column];
      for (std::size_t i = 0; i < 8; ++i) expected += matrices.a[row][i] * matrices.b[i][column];
      EXPECT_EQ(found.d[row][column], expected) << row << " " << column << ": whole numbers below 2^24 are exact";
    }
  }
}

// Returns a0 b0 + a1 b1 + c.
float sum_of_two(float a0, float b0, float a1, float b1, float c) {
  Matrices matrices;
  matrices.a[0][0] = a0;
  matrices.a[0][1] = a1;
  matrices.b[0][0] = b0;
  matrices.b[1][0] = b1;
  matrices.d[0][0] = c;
  run(matrices);
  return matrices.d[0][0];
}

TEST(EmulatedMma, CutsOffWhatLiesBelowTheLastBitOfTheLargest) {
  EXPECT_EQ(sum_of_two(1.0F, 1.0F, 0x1p-12F, 0x1.8p-12F, 0.0F), 1.0F);
  EXPECT_EQ(sum_of_two(1.0F, 1.0F, 0x1p-12F, 0x1.8p-11F, 0.0F), 1.0F + 0x1p-23F);
  EXPECT_EQ(sum_of_two(-1.0F, 1.0F, 0x1p-12F, -0x1.8p-11F, 0.0F), -1.0F - 0x1p-23F);
  EXPECT_EQ(sum_of_two(0x1p-12F, 0x1.8p-12F, 0.0F, 0.0F, 1.0F), 1.0F) << "in C, too";
  EXPECT_EQ(sum_of_two(1.0F, 1.0F, -1.0F, 1.0F, 0x1p-24F), 0.0F) << "although the largest cancel";
  EXPECT_EQ(sum_of_two(1.0F, 1.0F, 1.0F, 1.0F, 1.0F + 0x1p-23F), 3.0F) << "the sum, to its own last bit";
  EXPECT_EQ(sum_of_two(0.0F, 1.0F, 0.0F, 1.0F, 0.0F), 0.0F);
}

TEST(EmulatedMma, FactorsThatAreNotTf32AreNoNumbers) {
  EXPECT_TRUE(std::isnan(sum_of_two(1.0F + 0x1p-11F, 1.0F, 0.0F, 0.0F, 0.0F)));
  EXPECT_TRUE(std::isnan(sum_of_two(1.0F, 1.0F + 0x1p-23F, 0.0F, 0.0F, 0.0F)));
  EXPECT_EQ(sum_of_two(1.0F + 0x1p-10F, 1.0F, 0.0F, 0.0F, 0.0F), 1.0F + 0x1p-10F);
}

}  // namespace
}  // namespace znni::cuda_emulation
