#include "server/pipeline/job/input_window.hpp"

#include <algorithm>

namespace znni {

InputWindow::InputWindow(PlaneSource& source, const PatchGrid& grid, const Geometry& geometry, bool all,
                         std::int64_t frame)
    : source_(source) {
  const std::int64_t planes = source.shape().n.z;
  const Vec3 begin = all ? Vec3{} : geometry.read_begin;
  const int z = geometry.choice.axis;  // where the volume's z is
  const auto inside = [&](std::int64_t plane) { return std::clamp<std::int64_t>(plane - frame, 0, planes); };
  first_.reserve(grid.patches.size());
  last_.reserve(grid.patches.size());
  for (const GridPatch& patch : grid.patches) {
    first_.push_back(inside(patch.start[z] + begin[z]));
    last_.push_back(inside(patch.start[z] + geometry.patch_input[z]));
  }
  for (std::size_t i = first_.size(); i-- > 1;) first_[i - 1] = std::min(first_[i - 1], first_[i]);
  for (std::size_t i = 1; i < last_.size(); ++i) last_[i] = std::max(last_[i - 1], last_[i]);
}

void InputWindow::move_to(std::int64_t first, std::int64_t last) {
  ensure(first < last && last <= static_cast<std::int64_t>(first_.size()), "patches of the grid");
  source_.want({first_[static_cast<std::size_t>(first)], last_[static_cast<std::size_t>(last) - 1]});
}

}  // namespace znni
