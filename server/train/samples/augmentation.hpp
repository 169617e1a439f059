// Changes of a patch that leave the answer the same: what a network is trained with besides what was recorded.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/core/shape.hpp"
#include "server/train/samples/counter_random.hpp"

namespace znni {

struct AugmentationOptions {
  bool symmetries = false;    // the 48 of the cube: each axis reversed or not, and axes of equal extent swapped
  double contrast = 0;        // voxels are multiplied by exp of a normal number of this deviation
  double brightness = 0;      // a normal number of this deviation is added to all voxels
  double missing_planes = 0;  // probability with which a plane along z becomes 0
  double blurred_planes = 0;  // probability with which a plane along z that is there is blurred
};

// Axis i of what is turned is axis axes[i] of the source, in reverse if `reversed` has a 1 along that axis of the
// source.
struct Symmetry {
  std::array<int, 3> axes = {0, 1, 2};
  Vec3 reversed = {};
  bool operator==(const Symmetry&) const = default;
};

// Draws one of the symmetries, each as likely. Axes are swapped where both the patch and the output have equal
// extents. Returns the one that changes nothing if `options` has no symmetries.
[[nodiscard]] Symmetry draw_symmetry(const AugmentationOptions& options, Vec3 patch, Vec3 output,
                                     CounterRandom& random);

// Returns [channels][n.z][n.y][n.x] turned; its extents are n along the axes of the symmetry.
template <class Element>
[[nodiscard]] std::vector<Element> turned(std::span<const Element> values, Vec3 n, const Symmetry& symmetry);

// Changes contrast, then brightness.
void change_tone(const AugmentationOptions& options, CounterRandom& random, std::span<float> voxels);

// Sets planes of [channels][n.z][n.y][n.x] to 0, and blurs planes, in all channels. The blur is (1 4 6 4 1) / 16 along
// y and along x; beyond the patch its voxels at the border go on.
void damage_planes(const AugmentationOptions& options, CounterRandom& random, Vec3 n, std::span<float> voxels);

}  // namespace znni
