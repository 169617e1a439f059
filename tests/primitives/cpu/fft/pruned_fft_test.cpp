#include "primitives/cpu/fft/pruned_fft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

namespace znni::cpu {
namespace {

using Wide = std::complex<double>;

struct Case {
  Vec3 n_fft;
  Vec3 samples;
  Vec3 spacing;
};

std::string text(const Case& c) {
  return "n_fft " + to_string(c.n_fft) + ", samples " + to_string(c.samples) + ", spacing " + to_string(c.spacing);
}

// Values aligned to fft_alignment and poisoned, so that reads of unwritten values show.
class Values {
 public:
  explicit Values(std::int64_t count) : storage_(static_cast<std::size_t>(count) + 8) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::fill(storage_.begin(), storage_.end(), Complex(nan, nan));
    void* start = storage_.data();
    std::size_t space = storage_.size() * sizeof(Complex);
    data_ = static_cast<Complex*>(std::align(fft_alignment, 1, start, space));
  }
  Complex* data() { return data_; }

 private:
  std::vector<Complex> storage_;
  Complex* data_ = nullptr;
};

std::int64_t uniform(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Case random_case(std::mt19937& random) {
  Case c;
  for (int axis = 0; axis < 3; ++axis) {
    c.spacing[axis] = uniform(random, 1, 3);
    c.samples[axis] = uniform(random, 1, axis == 0 ? 4 : 6);
    const std::int64_t extent = c.spacing[axis] * (c.samples[axis] - 1) + 1;
    c.n_fft[axis] = extent + uniform(random, 0, axis == 2 ? 70 - extent : 6);
  }
  return c;
}

std::vector<float> random_voxels(std::mt19937& random, std::int64_t count) {
  std::vector<float> voxels(static_cast<std::size_t>(count));
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::generate(voxels.begin(), voxels.end(), [&] { return distribution(random); });
  return voxels;
}

// Returns one coefficient by the definition, in double precision.
Wide coefficient(const Case& c, const std::vector<float>& voxels, Vec3 q) {
  Wide sum;
  for (std::int64_t z = 0; z < c.samples.z; ++z) {
    for (std::int64_t y = 0; y < c.samples.y; ++y) {
      for (std::int64_t x = 0; x < c.samples.x; ++x) {
        const Vec3 at = Vec3{z, y, x} * c.spacing;
        double turns = 0;
        for (int axis = 0; axis < 3; ++axis) {
          turns += static_cast<double>(q[axis] * at[axis] % c.n_fft[axis]) / static_cast<double>(c.n_fft[axis]);
        }
        const float voxel = voxels[static_cast<std::size_t>((z * c.samples.y + y) * c.samples.x + x)];
        sum += static_cast<double>(voxel) * std::polar(1.0, -2 * std::numbers::pi * turns);
      }
    }
  }
  return sum;
}

ConstVoxels dense(const std::vector<float>& voxels, Vec3 n) { return {voxels.data(), {n.y * n.x, n.x, 1}}; }

double tolerance(const Case& c) {
  return 3e-7 * std::sqrt(static_cast<double>(voxels(c.samples))) *
         std::log2(2.0 + static_cast<double>(voxels(c.n_fft)));
}

TEST(PrunedForward, IsTheDefinitionOnRandomExtentsSamplesAndSpacings) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Case c = random_case(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(c));
    const std::vector<float> voxels = random_voxels(random, znni::voxels(c.samples));
    Result<PrunedForward> fft = PrunedForward::make(c.n_fft, c.samples, c.spacing);
    ASSERT_TRUE(fft) << fft.error().message;
    Values transform(transform_elements(c.n_fft));
    Values tile(tile_elements(c.n_fft));
    fft->run(dense(voxels, c.samples), transform.data(),
             {tile.data(), static_cast<std::size_t>(tile_elements(c.n_fft))});
    const std::int64_t row = c.n_fft.x / 2 + 1;
    for (int probe = 0; probe < 200; ++probe) {
      const Vec3 q = {uniform(random, 0, c.n_fft.z - 1), uniform(random, 0, c.n_fft.y - 1),
                      uniform(random, 0, row - 1)};
      const Wide found(transform.data()[(q.z * c.n_fft.y + q.y) * row + q.x]);
      ASSERT_NEAR(std::abs(found - coefficient(c, voxels, q)), 0, tolerance(c)) << "coefficient " << to_string(q);
    }
  }
}

TEST(PrunedForward, ReadsSamplesByTheirSteps) {
  std::mt19937 random(3);
  const Vec3 n = {3, 4, 5};
  const std::vector<float> wide = random_voxels(random, 6 * 9 * 14);
  const Vec3 step = {9 * 14, 2 * 14, 2};
  std::vector<float> packed;
  for (std::int64_t v = 0; v < voxels(n); ++v) {
    const Vec3 at = {v / (n.y * n.x), v / n.x % n.y, v % n.x};
    packed.push_back(wide[static_cast<std::size_t>(at.z * step.z + at.y * step.y + at.x * step.x)]);
  }
  const Vec3 n_fft = {4, 5, 6};
  Result<PrunedForward> fft = PrunedForward::make(n_fft, n);
  ASSERT_TRUE(fft);
  Values a(transform_elements(n_fft));
  Values b(transform_elements(n_fft));
  Values tile(tile_elements(n_fft));
  const std::span<Complex> scratch(tile.data(), static_cast<std::size_t>(tile_elements(n_fft)));
  fft->run({wide.data(), step}, a.data(), scratch);
  fft->run(dense(packed, n), b.data(), scratch);
  for (std::int64_t e = 0; e < transform_elements(n_fft); ++e) EXPECT_EQ(a.data()[e], b.data()[e]);
}

// Planes side by side and columns through tiles give the same transform as the one in place, up to rounding.
TEST(PrunedForward, InPackedPartsIsTheSame) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(500 + seed);
    const Case c = random_case(random);
    SCOPED_TRACE("seed " + std::to_string(500 + seed) + ": " + text(c));
    const std::vector<float> in = random_voxels(random, voxels(c.samples));
    Result<PrunedForward> fft = PrunedForward::make(c.n_fft, c.samples, c.spacing);
    ASSERT_TRUE(fft);
    const std::int64_t plane = plane_elements(c.n_fft);
    Values transform(transform_elements(c.n_fft));
    Values planes(plane * c.samples.z);
    Values tile(tile_elements(c.n_fft));
    Values block_values(tile_elements(c.n_fft));
    const std::span<Complex> scratch(tile.data(), static_cast<std::size_t>(tile_elements(c.n_fft)));
    fft->run(dense(in, c.samples), transform.data(), scratch);
    for (std::int64_t p = 0; p < fft->planes(); ++p) {
      fft->packed_plane(dense(in, c.samples), p, planes.data() + p * plane, scratch);
    }
    for (std::int64_t b = 0; b < fft->columns().count(); ++b) {
      fft->packed_column_block(b, planes.data(), scratch, block_values.data());
      for (std::int64_t z = 0; z < c.n_fft.z; ++z) {
        for (std::int64_t l = 0; l < fft->columns().lines(b); ++l) {
          const Complex expected = transform.data()[z * plane + fft->columns().first(b) + l];
          const Complex found = block_values.data()[z * tile_lines + l];
          ASSERT_NEAR(std::abs(found - expected), 0, tolerance(c)) << "plane " << z << ", column " << l;
        }
      }
    }
  }
}

TEST(PrunedInverse, GivesBackTheVoxelsWantedAndNothingElse) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(1000 + seed);
    Case c = random_case(random);
    c.spacing = Vec3::cube(1);
    c.samples = {uniform(random, 1, c.n_fft.z), uniform(random, 1, c.n_fft.y), uniform(random, 1, c.n_fft.x)};
    const Vec3 wanted = {uniform(random, 1, c.n_fft.z), uniform(random, 1, c.n_fft.y), uniform(random, 1, c.n_fft.x)};
    SCOPED_TRACE("seed " + std::to_string(1000 + seed) + ": " + text(c) + ", wanted " + to_string(wanted));
    const std::vector<float> in = random_voxels(random, voxels(c.samples));
    Result<PrunedForward> forward = PrunedForward::make(c.n_fft, c.samples);
    Result<PrunedInverse> inverse = PrunedInverse::make(c.n_fft, wanted);
    ASSERT_TRUE(forward && inverse);
    Values transform(transform_elements(c.n_fft) + 1);
    Values tile(tile_elements(c.n_fft));
    const std::span<Complex> scratch(tile.data(), static_cast<std::size_t>(tile_elements(c.n_fft)));
    Complex* start = transform.data() + seed % 2;  // both alignments
    forward->run(dense(in, c.samples), start, scratch);
    std::vector<float> out(static_cast<std::size_t>(voxels(wanted + Vec3::cube(1))), -7.0F);
    const Vec3 step = {(wanted.y + 1) * (wanted.x + 1), wanted.x + 1, 1};
    const Epilogue epilogue{1.0F / static_cast<float>(voxels(c.n_fft)), 0.25F, {}};
    const std::vector<float> added = random_voxels(random, voxels(wanted));
    const bool adds = seed % 3 == 0;
    inverse->run(start, {epilogue, adds ? dense(added, wanted) : ConstVoxels{}}, {out.data(), step}, scratch);
    for (std::int64_t v = 0; v < voxels(wanted + Vec3::cube(1)); ++v) {
      const Vec3 at = {v / step.z, v / step.y % (wanted.y + 1), v % step.y};
      const bool inside = covers(wanted - Vec3::cube(1), at);
      const bool sampled = covers(c.samples - Vec3::cube(1), at);
      const auto source = static_cast<std::size_t>((at.z * c.samples.y + at.y) * c.samples.x + at.x);
      const auto beside = static_cast<std::size_t>((at.z * wanted.y + at.y) * wanted.x + at.x);
      const float sum = 0.25F + (sampled ? in[source] : 0.0F) + (inside && adds ? added[beside] : 0.0F);
      const float expected = inside ? sum : -7.0F;
      ASSERT_NEAR(out[static_cast<std::size_t>(v)], expected, inside ? 2e-6 : 0.0) << "voxel " << to_string(at);
    }
  }
}

TEST(LineBlocks, CoverEveryLineOnce) {
  for (const std::int64_t lines : {1, 31, 32, 33, 64, 100}) {
    Result<LineBlocks> blocks = LineBlocks::make({FftKind::forward, 4, 0, tile_lines, 1, lines, 1}, lines);
    ASSERT_TRUE(blocks);
    std::int64_t next = 0;
    for (std::int64_t block = 0; block < blocks->count(); ++block) {
      EXPECT_EQ(blocks->first(block), next);
      next += blocks->lines(block);
    }
    EXPECT_EQ(next, lines);
  }
}

}  // namespace
}  // namespace znni::cpu
