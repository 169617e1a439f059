#include "server/train/samples/targets.hpp"

#include <array>
#include <string>

namespace znni {
namespace {

std::size_t voxel_place(std::int64_t number) { return static_cast<std::size_t>(number); }

// Writes the target of a voxel, channel by channel.
class TargetWriter {
 public:
  TargetWriter(const LabelPatch& patch, Targets& targets)
      : patch_(patch),
        targets_(targets),
        n_(patch.n - Vec3::cube(2 * target_margin)),
        steps_{patch.n.y * patch.n.x, patch.n.x, 1} {}

  void write(TargetKind kind) {
    for (std::int64_t z = 0; z < n_.z; ++z) {
      for (std::int64_t y = 0; y < n_.y; ++y) {
        for (std::int64_t x = 0; x < n_.x; ++x) write_voxel(kind, {z, y, x});
      }
    }
  }

 private:
  void write_voxel(TargetKind kind, Vec3 v) {
    const std::int64_t to = (v.z * n_.y + v.y) * n_.x + v.x;
    const Vec3 in = v + Vec3::cube(target_margin);
    const std::int64_t from = in.z * steps_[0] + in.y * steps_[1] + in.x;
    if (!is_known(from)) return;
    switch (kind) {
      case TargetKind::classes: targets_.values[voxel_place(to)] = static_cast<float>(label(from)); break;
      case TargetKind::boundaries: targets_.values[voxel_place(to)] = is_boundary(from) ? 1.0F : 0.0F; break;
      case TargetKind::affinities: return write_affinities(from, to);
    }
    targets_.weights[voxel_place(to)] = weight(from);
  }

  [[nodiscard]] bool is_boundary(std::int64_t at) const {
    if (label(at) == 0) return true;
    for (const std::int64_t step : steps_) {
      for (const std::int64_t other : {at - step, at + step}) {
        if (is_known(other) && label(other) != label(at)) return true;
      }
    }
    return false;
  }

  void write_affinities(std::int64_t from, std::int64_t to) {
    bool are_known = true;
    for (std::size_t axis = 0; axis < steps_.size(); ++axis) {
      const std::int64_t before = from - steps_[axis];
      const bool are_one = label(from) == label(before) && label(from) != 0;
      are_known = are_known && is_known(before);
      targets_.values[voxel_place(static_cast<std::int64_t>(axis) * voxels(n_) + to)] = are_one ? 1.0F : 0.0F;
    }
    targets_.weights[voxel_place(to)] = are_known ? weight(from) : 0.0F;
  }

  [[nodiscard]] std::uint64_t label(std::int64_t at) const { return patch_.labels[voxel_place(at)]; }
  [[nodiscard]] float weight(std::int64_t at) const {
    return patch_.weights.empty() ? 1.0F : patch_.weights[voxel_place(at)];
  }
  [[nodiscard]] bool is_known(std::int64_t at) const { return patch_.known[voxel_place(at)] != 0; }

  const LabelPatch& patch_;
  Targets& targets_;
  Vec3 n_;
  std::array<std::int64_t, 3> steps_;
};

}  // namespace

std::int64_t target_channels(TargetKind kind) { return kind == TargetKind::affinities ? 3 : 1; }

Result<void> check_labels(TargetKind kind, const LabelPatch& patch) {
  if (kind != TargetKind::classes) return {};
  for (std::size_t i = 0; i < patch.labels.size(); ++i) {
    if (patch.labels[i] <= max_class || patch.known[i] == 0) continue;
    return Error{ErrorCode::invalid_argument,
                 "a voxel has label " + std::to_string(patch.labels[i]) + "; as a class, " + std::to_string(max_class) +
                     " is the largest: if it means that the voxel is unlabelled, name a mask that is 0 there"};
  }
  return {};
}

Targets targets_of(TargetKind kind, const LabelPatch& patch) {
  const Vec3 n = patch.n - Vec3::cube(2 * target_margin);
  ensure(covers(n, Vec3::cube(1)), "the patch has voxels beside its margin");
  Targets targets{std::vector<float>(voxel_place(target_channels(kind) * voxels(n))),
                  std::vector<float>(voxel_place(voxels(n)))};
  TargetWriter(patch, targets).write(kind);
  return targets;
}

Vec3 strided(Vec3 n, Vec3 stride) { return (n - Vec3::cube(1)) / stride + Vec3::cube(1); }

Targets strided(Targets targets, Vec3 n, Vec3 stride) {
  if (stride == Vec3::cube(1)) return targets;
  const auto each = [&](const std::vector<float>& all) {
    std::vector<float> kept;
    const std::int64_t rows = std::ssize(all) / n.x;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (row / n.y % n.z % stride.z != 0 || row % n.y % stride.y != 0) continue;
      for (std::int64_t x = 0; x < n.x; x += stride.x) kept.push_back(all[voxel_place(row * n.x + x)]);
    }
    return kept;
  };
  return {each(targets.values), each(targets.weights)};
}

}  // namespace znni
