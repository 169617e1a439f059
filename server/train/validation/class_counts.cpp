#include "server/train/validation/class_counts.hpp"

namespace znni {

void ClassCounts::add(std::size_t named, std::size_t truth) {
  ++counts_[named].named;
  ++counts_[truth].truth;
  if (named == truth) ++counts_[truth].both;
}

std::optional<double> ClassCounts::accuracy() const {
  std::int64_t voxels = 0;
  std::int64_t right = 0;
  for (const Count& each : counts_) {
    voxels += each.truth;
    right += each.both;
  }
  if (voxels == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(voxels);
}

std::vector<std::optional<double>> ClassCounts::dice() const {
  std::vector<std::optional<double>> all;
  for (const Count& each : counts_) {
    const std::int64_t parts = each.named + each.truth;
    all.emplace_back();
    if (parts > 0) all.back() = 2.0 * static_cast<double>(each.both) / static_cast<double>(parts);
  }
  return all;
}

std::optional<double> ClassCounts::mean_dice() const {
  double sum = 0;
  int count = 0;
  for (const std::optional<double>& each : dice()) {
    sum += each.value_or(0);
    count += each ? 1 : 0;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace znni
