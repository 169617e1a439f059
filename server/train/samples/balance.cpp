#include "server/train/samples/balance.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace znni {
namespace {

using client::Box;

constexpr std::size_t max_classes = 1024;
constexpr std::int64_t largest_band = 128 << 10;  // voxels, unless one row has more
// While a band is read there are its labels and its mask as read and as numbers, and labels, known or not, target,
// weight and class.
constexpr std::int64_t bytes_per_voxel = 5 * sizeof(std::uint64_t) + 1 + 4 * sizeof(float) + sizeof(std::int64_t);

std::int64_t voxels_of_band(std::int64_t rows, std::int64_t x) {
  constexpr std::int64_t margins = 2 * target_margin;
  return mul(mul(1 + margins, rows + margins), x + margins);
}

// Returns how many rows of a box are read at once.
std::int64_t rows_of_band(Vec3 n) {
  constexpr std::int64_t margins = 2 * target_margin;
  const std::int64_t rows = largest_band / ((1 + margins) * (n.x + margins)) - margins;
  return std::clamp<std::int64_t>(rows, 1, n.y);
}

std::size_t row_place(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace

std::vector<std::int64_t> classes_of(TargetKind kind, const Targets& targets) {
  const std::size_t count = targets.weights.size();
  std::vector<std::int64_t> classes(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    if (targets.weights[i] == 0) continue;
    float least = targets.values[i];
    for (std::size_t at = i; at < targets.values.size(); at += count) least = std::min(least, targets.values[at]);
    classes[i] = static_cast<std::int64_t>(kind == TargetKind::classes ? targets.values[i] : least);
  }
  return classes;
}

ClassRows::ClassRows(TargetKind kind, std::vector<Box> boxes, std::int64_t max_bytes)
    : kind_(kind), boxes_(std::move(boxes)), max_bytes_(max_bytes) {
  for (const Box& box : boxes_) {
    const Vec3 n = box.extent();
    first_rows_.push_back(all_rows_);
    all_rows_ = add(all_rows_, mul(n.z, n.y));
    band_voxels_ = std::max(band_voxels_, voxels_of_band(rows_of_band(n), n.x));
  }
}

Result<ClassRows> ClassRows::count(TargetKind kind, const std::vector<LabelledVolume>& volumes, std::vector<Box> boxes,
                                   std::int64_t max_bytes) {
  ensure(volumes.size() == boxes.size() && !volumes.empty(), "one box of each volume");
  ClassRows rows(kind, std::move(boxes), max_bytes);
  if (Result<void> room = rows.check_room(volumes.front()); !room) return room.error();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (Result<void> added = rows.add_volume(volumes[i], rows.boxes_[i]); !added) return added.error();
  }
  return rows;
}

Result<void> ClassRows::add_volume(const LabelledVolume& volume, const Box& box) {
  const std::int64_t band = rows_of_band(box.extent());
  for (std::int64_t z = box.start.z; z < box.stop.z; ++z) {
    for (std::int64_t y = box.start.y; y < box.stop.y; y += band) {
      const Box rows{{z, y, box.start.x}, {z + 1, std::min(y + band, box.stop.y), box.stop.x}};
      if (Result<void> added = add_band(volume, rows); !added) return added;
    }
  }
  for (auto& [number, ends] : ends_) ends.resize(row_place(rows_), ends.back());
  return {};
}

Result<void> ClassRows::add_band(const LabelledVolume& volume, const Box& rows) {
  const Result<LabelPatch> labels = volume.labels_for(kind_, rows);
  if (!labels) return labels.error();
  const std::vector<std::int64_t> classes = classes_of(kind_, targets_of(kind_, *labels));
  const Vec3 n = rows.extent();
  for (std::int64_t y = 0; y < n.y; ++y) {
    if (Result<void> added = add_row(volume, std::span(classes).subspan(row_place(y * n.x), row_place(n.x))); !added) {
      return added;
    }
  }
  return {};
}

Result<void> ClassRows::add_row(const LabelledVolume& volume, std::span<const std::int64_t> classes) {
  for (const std::int64_t own : classes) {
    if (own < 0) continue;
    auto found = ends_.find(own);
    if (found == ends_.end()) {
      if (Result<void> room = check_room(volume); !room) return room;
      found = ends_.emplace(own, std::vector<std::int64_t>()).first;
      found->second.reserve(row_place(all_rows_));
    }
    std::vector<std::int64_t>& ends = found->second;
    ends.resize(row_place(rows_ + 1), ends.empty() ? 0 : ends.back());
    ++ends.back();
  }
  ++rows_;
  return {};
}

// Fails unless there is room for one more class.
Result<void> ClassRows::check_room(const LabelledVolume& volume) const {
  if (ends_.size() == max_classes) {
    return Error{ErrorCode::invalid_argument, volume.labels().name() + ": has more than " +
                                                  std::to_string(max_classes) +
                                                  " classes, too many to balance; sample uniformly"};
  }
  const std::int64_t bytes = bytes_with(std::ssize(ends_) + 1);
  if (bytes <= max_bytes_) return {};
  return Error{ErrorCode::over_budget, volume.labels().name() + ": to balance " + std::to_string(ends_.size() + 1) +
                                           " classes takes " + std::to_string(bytes) + " bytes, and " +
                                           std::to_string(max_bytes_) +
                                           " may be used; give more memory, or sample uniformly"};
}

std::int64_t ClassRows::bytes_with(std::int64_t classes) const {
  return add(mul(mul(classes, all_rows_), static_cast<std::int64_t>(sizeof(std::int64_t))),
             mul(band_voxels_, bytes_per_voxel));
}

std::int64_t ClassRows::memory_bytes() const { return bytes_with(std::ssize(ends_)); }

std::map<std::int64_t, std::int64_t> ClassRows::counts() const {
  std::map<std::int64_t, std::int64_t> counts;
  for (const auto& [number, ends] : ends_) counts.emplace(number, ends.back());
  return counts;
}

Result<PlaceInVolume> ClassRows::draw(const std::vector<LabelledVolume>& volumes, CounterRandom& random) const {
  ensure(!ends_.empty(), "a voxel is labelled");
  const auto& [number, ends] = *std::next(ends_.begin(), random.below(std::ssize(ends_)));
  const std::int64_t rank = random.below(ends.back());
  const auto row = std::upper_bound(ends.begin(), ends.end(), rank);
  const std::int64_t before = row == ends.begin() ? 0 : *std::prev(row);
  return find(volumes, number, row - ends.begin(), rank - before);
}

// Looks for the voxel of that rank among those of a class in a row.
Result<PlaceInVolume> ClassRows::find(const std::vector<LabelledVolume>& volumes, std::int64_t number, std::int64_t row,
                                      std::int64_t rank) const {
  const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  const auto volume = static_cast<std::size_t>(after - first_rows_.begin() - 1);
  const Box& box = boxes_[volume];
  const std::int64_t own = row - first_rows_[volume];
  const Vec3 start = box.start + Vec3{own / box.extent().y, own % box.extent().y, 0};
  const Result<LabelPatch> labels = volumes[volume].labels_around({start, {start.z + 1, start.y + 1, box.stop.x}});
  if (!labels) return labels.error();
  const std::vector<std::int64_t> classes = classes_of(kind_, targets_of(kind_, *labels));
  for (std::int64_t x = 0; x < std::ssize(classes); ++x) {
    if (classes[row_place(x)] == number && rank-- == 0) return PlaceInVolume{volume, start + Vec3{0, 0, x}};
  }
  return Error{ErrorCode::invalid_argument,
               volumes[volume].input().name() + ": its labels changed while they were used"};
}

}  // namespace znni
