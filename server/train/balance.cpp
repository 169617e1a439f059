#include "server/train/balance.hpp"

#include <algorithm>
#include <iterator>

namespace znni {
namespace {

using client::Box;

constexpr std::size_t max_classes = 1024;

std::size_t place(std::int64_t number) { return static_cast<std::size_t>(number); }

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

void ClassRows::add_row(const std::vector<std::int64_t>& classes, std::size_t first, std::int64_t count) {
  for (std::int64_t x = 0; x < count; ++x) {
    const std::int64_t own = classes[first + place(x)];
    if (own < 0) continue;
    std::vector<std::int64_t>& ends = ends_[own];
    ends.resize(place(rows_ + 1), ends.empty() ? 0 : ends.back());
    ++ends.back();
  }
  ++rows_;
}

Result<void> ClassRows::add_volume(const LabelledVolume& volume, const Box& box) {
  boxes_.push_back(box);
  first_rows_.push_back(rows_);
  const Vec3 n = box.extent();
  for (std::int64_t z = box.start.z; z < box.stop.z; ++z) {
    const Result<LabelPatch> labels =
        volume.labels_around({{z, box.start.y, box.start.x}, {z + 1, box.stop.y, box.stop.x}});
    if (!labels) return labels.error();
    const std::vector<std::int64_t> classes = classes_of(kind_, targets_of(kind_, *labels));
    for (std::int64_t y = 0; y < n.y; ++y) add_row(classes, place(y * n.x), n.x);
    if (ends_.size() <= max_classes) continue;
    return Error{ErrorCode::invalid_argument, volume.input().name() + ": its labels have more than " +
                                                  std::to_string(max_classes) +
                                                  " classes, too many to balance; sample uniformly"};
  }
  for (auto& [number, ends] : ends_) ends.resize(place(rows_), ends.back());
  return {};
}

std::int64_t ClassRows::memory_bytes() const {
  return static_cast<std::int64_t>(ends_.size()) * rows_ * static_cast<std::int64_t>(sizeof(std::int64_t));
}

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
    if (classes[place(x)] == number && rank-- == 0) return PlaceInVolume{volume, start + Vec3{0, 0, x}};
  }
  return Error{ErrorCode::invalid_argument,
               volumes[volume].input().name() + ": its labels changed while they were used"};
}

}  // namespace znni
