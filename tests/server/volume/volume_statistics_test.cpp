#include "server/volume/volume_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "tests/server/volume/random_volume.hpp"

namespace znni {
namespace {

using test::Random;
using test::RandomVolume;

struct Moments {
  double mean = 0;
  double deviation = 0;
};

// Returns the moments of the normalised volume, voxel by voxel.
Moments moments(const RandomVolume& volume, const Normalisation& normalisation) {
  std::vector<double> values;
  for (std::int64_t j = 0; j < volume.shape.f; ++j) {
    for (std::int64_t i = 0; i < voxels(volume.shape.n); ++i) {
      const float x = test::voxel(volume.bytes.data(), volume.shape, j, fragment_at(i, volume.shape.n));
      values.push_back(static_cast<double>(x) * static_cast<double>(normalisation.scale) +
                       static_cast<double>(normalisation.offset));
    }
  }
  Moments result;
  for (const double x : values) result.mean += x / static_cast<double>(values.size());
  for (const double x : values) result.deviation += std::pow(x - result.mean, 2) / static_cast<double>(values.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

class VolumeStatistics : public testing::TestWithParam<ElementType> {
 protected:
  Executor executor_{2};
};

TEST_P(VolumeStatistics, StandardisesToMeanZeroAndDeviationOne) {
  Random random(test::base_seed());
  for (const Vec3 n : {Vec3{1, 1, 2}, Vec3{5, 7, 9}, Vec3{40, 90, 100}}) {
    const RandomVolume volume = test::random_volume(2, n, GetParam(), random);
    for (const Normalisation& before : {Normalisation{}, Normalisation{0.25F, 7.0F}, Normalisation{-3.0F, 1.0F}}) {
      const Normalisation found = standardising(volume.view(), before, executor_);
      const Moments after = moments(volume, found);
      EXPECT_NEAR(after.mean, 0.0, 1e-4);
      EXPECT_NEAR(after.deviation, 1.0, 1e-4);
      EXPECT_EQ(found.scale < 0, before.scale < 0) << "the order of values follows the model's own scale";
    }
  }
}

TEST_P(VolumeStatistics, AreTheSameOnAnyNumberOfWorkers) {
  Random random(test::base_seed());
  const RandomVolume volume = test::random_volume(1, {60, 90, 100}, GetParam(), random);
  Executor one(1);
  EXPECT_EQ(standardising(volume.view(), {}, executor_), standardising(volume.view(), {}, one));
}

INSTANTIATE_TEST_SUITE_P(Types, VolumeStatistics,
                         testing::Values(ElementType::f32, ElementType::f16, ElementType::u16, ElementType::u8),
                         [](const auto& type) { return to_string(type.param); });

TEST(VolumeStatistics, CountWhatIsTakenForVoxelsThatAreNoNumbers) {
  Random random(test::base_seed());
  Executor executor(2);
  RandomVolume volume = test::random_volume(2, {5, 7, 9}, ElementType::f32, random);
  const auto with_first = [&volume](float value) {
    std::memcpy(volume.bytes.data(), &value, sizeof(value));
    return volume.view();
  };
  const Normalisation expected = standardising(with_first(3.0F), {}, executor);
  const Normalisation found = standardising(with_first(std::nanf("")), {1.0F, 0.0F, 3.0F}, executor);
  EXPECT_EQ(found, (Normalisation{expected.scale, expected.offset, 3.0F}));
}

TEST(VolumeStatistics, AVolumeOfOneValueBecomesZeros) {
  const std::vector<std::byte> bytes(64, std::byte{200});
  Executor executor(1);
  const Normalisation found = standardising({bytes.data(), {1, {4, 4, 4}, ElementType::u8}}, {}, executor);
  EXPECT_EQ(200.0F * found.scale + found.offset, 0.0F);
}

TEST(VolumeStatistics, SmallDeviationOnALargeMeanKeepsItsDigits) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 60000.0F + (i % 2 == 0 ? 0.5F : -0.5F);
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  Executor executor(2);
  const Normalisation found = standardising({bytes.data(), {1, {10, 10, 10}, ElementType::f32}}, {}, executor);
  EXPECT_NEAR(found.scale, 2.0F, 1e-4F);
}

}  // namespace
}  // namespace znni
