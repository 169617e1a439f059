// A wide volume is asked for in parts, one after the other, each a volume of its own. A part is as long as the whole
// along z, and some patches, or columns of a stream, wide along y and x. A job of the whole holds planes of all the
// cross-section. If the planes are large, its bands are thin, and most columns begin again in each. A job of a part
// holds less, and if it is one column in one phase, nothing waits at all. Parts are cut where the whole's own patches
// end, so that no border is computed that was not before; their input overlaps by a field of view, and is sent more
// than once.
#pragma once

#include <functional>
#include <span>

#include "primitives/core/primitive.hpp"

namespace znni {

struct VolumeCut {
  Vec3 part;  // of the output; the last ones along y and x have what is left
  std::int64_t parts = 1;
  Seconds whole_seconds = 0;  // predicted of the volume at once
  Seconds seconds = 0;        // of all parts, one after the other
  bool fits = true;           // a job holds no more of a part than it may
  bool operator==(const VolumeCut&) const = default;
};

// The time and memory of a volume of some extent, alone.
struct PartEstimate {
  Seconds seconds = 0;
  bool fits = true;  // a job holds no more of it than it may
};
using EstimateOfPart = std::function<PartEstimate(Vec3 input)>;

// Returns the parts in which `output` is predicted to be computed soonest, among those that are looked at; other
// multiples of a patch may be sooner. Among cuts within 2 % of the soonest it takes the one that sends the least input.
// Returns the whole volume unless parts take a tenth less time, or fit where the whole does not; also if nothing fits.
// `patches`: output extents of the patches and columns that parts may consist of. Twelve widths of each along y and
// along x are looked at; z is not cut.
[[nodiscard]] VolumeCut best_cut(Vec3 output, Vec3 fov, std::span<const Vec3> patches, const EstimateOfPart& estimate);

}  // namespace znni
