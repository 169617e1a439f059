// What a network is to learn, made of labels: one whole number for each voxel.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/core/result.hpp"
#include "primitives/core/shape.hpp"

namespace znni {

// classes: the label itself, one channel. boundaries: one channel, 1 for label 0 and for a voxel of which a face
// neighbour has another label, else 0. affinities: three channels, of z, y and x. They are 1 where a voxel and the one
// before it along that axis have one label that is not 0, else 0.
enum class TargetKind { classes, boundaries, affinities };

// Labels of a patch, [n.z][n.y][n.x]. A voxel is not known if it is unlabelled or lies outside of the volume. A voxel
// of weight 0 may be known: then its label still makes the targets of its neighbours.
struct LabelPatch {
  Vec3 n;
  std::vector<std::uint64_t> labels;
  std::vector<std::uint8_t> known;  // 1, or 0
  std::vector<float> weights = {};  // at least 0; empty: each is 1
};

// The voxels around a target of which it is made, at either end of each axis.
inline constexpr std::int64_t target_margin = 1;

// The largest class: up to it a float32 has every whole number.
inline constexpr std::uint64_t max_class = std::uint64_t{1} << 24;

// Fails if classes are wanted and a known voxel has a label above max_class.
// The error names the label, and what is right.
[[nodiscard]] Result<void> check_labels(TargetKind kind, const LabelPatch& patch);

struct Targets {
  std::vector<float> values;   // [channels][n], n as below
  std::vector<float> weights;  // [n]; the voxel's weight where the target is known, else 0
};

[[nodiscard]] std::int64_t target_channels(TargetKind kind);

// Returns the targets of all voxels of the patch but the margin, so n = patch.n - 2 target_margin. Neighbours that are
// not known do not make a voxel a boundary. A voxel without a known neighbour before it, along any axis, has no known
// affinities. Requires patch.n above 2 target_margin along each axis, and check_labels().
[[nodiscard]] Targets targets_of(TargetKind kind, const LabelPatch& patch);

// Returns how many voxels of an extent are the first along each axis or a stride apart from it.
[[nodiscard]] Vec3 strided(Vec3 n, Vec3 stride);
// Returns the targets, of extent n, of these voxels.
[[nodiscard]] Targets strided(Targets targets, Vec3 n, Vec3 stride);

}  // namespace znni
