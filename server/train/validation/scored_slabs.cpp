#include "server/train/validation/scored_slabs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace znni {
namespace {

using client::Box;

constexpr std::int64_t largest_band = 64 << 10;  // voxels of a plane that are compared at once, unless one row has more
// Labels and mask as read and as numbers, known or not twice, and weights as read and as numbers; with the margins,
// three planes of them.
constexpr std::int64_t bytes_per_label = 5 * sizeof(std::uint64_t) + 2 + 3 * sizeof(float);

std::int64_t rows_of_band(Vec3 n) { return std::clamp<std::int64_t>(largest_band / n.x, 1, n.y); }

}  // namespace

std::int64_t ScoredSlabs::working_bytes(const VolumeShape& output) {
  constexpr std::int64_t margins = 2 * target_margin;
  const std::int64_t rows = rows_of_band(output.n);
  const std::int64_t labels = mul(mul(1 + margins, rows + margins), output.n.x + margins);
  const std::int64_t floats = mul(mul(rows, output.n.x), 2 * output.f + 1);  // output, targets, weights
  return add(mul(labels, bytes_per_label), mul(floats, static_cast<std::int64_t>(sizeof(float))));
}

OutputSlab ScoredSlabs::take(std::int64_t first_plane, std::int64_t planes) {
  VolumeShape shape = output_;
  shape.n.z = planes;
  taken_.emplace_back(static_cast<std::size_t>(shape.f * voxels(shape.n)));
  return {first_plane, reinterpret_cast<std::byte*>(taken_.back().data()), shape};
}

void ScoredSlabs::abandon(const OutputSlab& slab) {
  std::erase_if(taken_, [&](const std::vector<float>& each) {
    return reinterpret_cast<const std::byte*>(each.data()) == slab.data;
  });
}

Result<void> ScoredSlabs::compare(const OutputSlab& slab) {
  const Vec3 n = slab.shape.n;
  const std::int64_t rows = rows_of_band(n);
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; y += rows) {
      const Result<void> compared = compare_band(slab, {{z, y, 0}, {z + 1, std::min(y + rows, n.y), n.x}});
      if (!compared) return compared;
    }
  }
  abandon(slab);
  return {};
}

// `band`: of the slab.
Result<void> ScoredSlabs::compare_band(const OutputSlab& slab, const Box& band) {
  const Vec3 n = slab.shape.n;
  const auto voxels_of_band = band.extent().y * n.x;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(slab.shape.f * voxels_of_band));
  for (std::int64_t j = 0; j < slab.shape.f; ++j) {
    const std::int64_t row = (band.start.z * slab.shape.f + j) * n.y + band.start.y;
    const float* const from = reinterpret_cast<const float*>(slab.data) + row * n.x;
    values.insert(values.end(), from, from + voxels_of_band);
  }
  const Vec3 moved = scored_.before + Vec3{slab.first_plane, 0, 0};
  const Box box{band.start + moved, band.stop + moved};
  std::unique_lock lock(reading_);
  const Result<LabelPatch> labels = scored_.volume.labels_for(scored_.targets, box);
  lock.unlock();
  if (!labels) return labels.error();
  const std::string place = scored_.volume.labels().name() + ": voxels " + client::to_string(box);
  if (!std::all_of(values.begin(), values.end(), [](float each) { return std::isfinite(each); })) {
    return Error{ErrorCode::invalid_argument,
                 place +
                     ": the network writes NaN or infinite numbers there; lower learning_rate, warm up, or set "
                     "clip_norm, and give --restart"};
  }
  const Targets own = targets_of(scored_.targets, *labels);
  const LossTargets targets = {own.values, own.weights};
  if (const Result<void> sound = scored_.loss.check(targets); !sound) return sound.error().within(place);
  scores_.add(values, targets);
  return {};
}

}  // namespace znni
