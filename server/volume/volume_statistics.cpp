#include "server/volume/volume_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "server/volume/element.hpp"

namespace znni {
namespace {

constexpr std::int64_t block_voxels = 4096;

// Sums about a point near the mean, so that no digits are lost where the deviation is small.
struct Sums {
  double first = 0;
  double second = 0;
};

Sums sums_of_part(const VolumeView& volume, std::int64_t begin, std::int64_t end, double about,
                  const Normalisation& raw) {
  std::array<float, block_voxels> row;
  Sums sums;
  for (std::int64_t at = begin; at < end; at += block_voxels) {
    const std::int64_t count = std::min(block_voxels, end - at);
    read_row(volume.shape.type, volume.data + at * element_bytes(volume.shape.type), count, raw, row.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(row[static_cast<std::size_t>(i)]) - about;
      sums.first += difference;
      sums.second += difference * difference;
    }
  }
  return sums;
}

// Adds up a volume. Parts are of one size and added in order, so that the same volume gives the same bits on any number
// of workers.
Sums sums_of(const VolumeView& volume, double about, const Normalisation& raw, Executor& executor) {
  const std::int64_t count = volume.shape.f * voxels(volume.shape.n);
  const std::int64_t part = 64 * block_voxels;
  std::vector<Sums> parts(static_cast<std::size_t>(div_up(count, part)));
  const auto task = [&](std::int64_t i, int) {
    parts[static_cast<std::size_t>(i)] = sums_of_part(volume, i * part, std::min(count, (i + 1) * part), about, raw);
  };
  executor.parallel_for(static_cast<std::int64_t>(parts.size()), task);
  Sums sums;
  for (const Sums& own : parts) sums = {sums.first + own.first, sums.second + own.second};
  return sums;
}

}  // namespace

Normalisation standardising(const VolumeView& volume, const Normalisation& before, Executor& executor) {
  const double count = static_cast<double>(volume.shape.f * voxels(volume.shape.n));
  const Normalisation raw{1.0F, 0.0F, before.instead};
  const double mean = sums_of(volume, 0.0, raw, executor).first / count;
  const Sums about_mean = sums_of(volume, mean, raw, executor);
  const double variance = about_mean.second / count - std::pow(about_mean.first / count, 2);
  const double deviation = std::sqrt(std::max(variance, 0.0));
  // (x s + o - (mean s + o)) / (|s| deviation): o cancels, and of s only its sign is left.
  const double sign = before.scale < 0.0F ? -1.0 : 1.0;
  const double scale = deviation > 0.0 && before.scale != 0.0F ? sign / deviation : 0.0;
  return {static_cast<float>(scale), static_cast<float>(-mean * scale), before.instead};
}

}  // namespace znni
