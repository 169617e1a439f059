#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu::fft_tiled {

void finish_slowly(const Tiling& t, std::int64_t block, float* line, std::int64_t inside);

namespace {

constexpr std::int64_t inside = 5;

// A line of seven voxels of which five lie inside the output.
void check_block(const Tiling& t, std::int64_t block, test::Random& random) {
  const std::vector<float> before = random.normals(7 * t.lanes, 3.0F);
  std::vector<float> line = before;
  finish_slowly(t, block, line.data(), inside);
  for (std::int64_t i = 0; i < 7 * t.lanes; ++i) {
    const float x = before[static_cast<std::size_t>(i)];
    const bool padding = block * t.lanes + i % t.lanes >= t.problem.f_out;
    const float finished = padding ? 0.0F : apply(t.problem.activation, x);
    EXPECT_FLOAT_EQ(line[static_cast<std::size_t>(i)], i < inside * t.lanes ? finished : x)
        << to_string(t.problem.activation.kind) << ", block " << block << ", float " << i;
  }
}

TEST(FinishSlowly, ActivatesWhatIsInsideAndClearsPadding) {
  test::Random random(test::base_seed());
  SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  for (const std::int64_t lanes : {16, 8}) {
    for (int kind = 0; kind <= 5; ++kind) {
      Tiling t;
      t.lanes = lanes;
      t.problem.f_out = lanes + 3;
      t.problem.activation = {static_cast<ActivationKind>(kind), 0.3F};
      check_block(t, 0, random);
      check_block(t, 1, random);
    }
  }
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
