// A user's pins of a plan. The search then looks at such plans alone, so that a published or a hand-made one can be
// priced. All extents and groups are those of the volume's axes z, y, x, also if a stream runs along y or x.
//
// Pins hold for the first rung. Smaller rungs serve smaller volumes: they choose their own patch and S. The rungs on
// the CPU that stand behind a GPU's keep none of the pins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/geometry/geometry.hpp"

namespace znni {

struct Pins {
  std::optional<Vec3> patch;       // input voxels that a patch, or one step of a stream, depends on
  std::string theta;               // first node of the GPU's own segment, by name or number; "": not pinned
  std::vector<PoolingMode> modes;  // one for each pooling; empty: not pinned
  std::optional<std::int64_t> S;   // patches computed together
  bool streams = true;             // false: independent patches alone
  bool groups = true;              // false: nothing depth-first, neither fragments in groups nor a stem in slabs
  bool operator==(const Pins&) const = default;
};

inline constexpr std::int64_t max_pinned_extent = std::int64_t{1} << 16;
inline constexpr std::int64_t max_pinned_S = 4096;

// Returns the flags of `planner` that pin the same: "--patch 88,288,280 --modes mpf,mpf --no-stream"; "" if nothing is
// pinned.
[[nodiscard]] std::string to_string(const Pins& pins);
// Returns " with " and these flags, or "".
[[nodiscard]] std::string with_pins(const Pins& pins);
// Return the two flags that name patch and modes, as they stand in it.
[[nodiscard]] std::string patch_flag(Vec3 patch);
[[nodiscard]] std::string modes_flag(const std::vector<PoolingMode>& modes);

// Reads "Z,Y,X", "ZxYxX", or "N", the edge of a cube. Each is from 1 to max_pinned_extent.
[[nodiscard]] Result<Vec3> parse_pinned_patch(std::string_view text);
// Reads "max,mpf": "max" or "plain", "mpf", "mpf:2x1x1" (groups of fragments, the pooling's input held),
// "mpf:2x1x1:recompute".
[[nodiscard]] Result<std::vector<PoolingMode>> parse_pinned_modes(std::string_view text);

// Reads a batch size from 1 to max_pinned_S.
[[nodiscard]] Result<std::int64_t> parse_pinned_batch(std::string_view text);

// Returns the pinned patch for a net of this rank: a cube is one along the axes that the net has.
[[nodiscard]] std::optional<Vec3> pinned_patch(const Pins& pins, int rank);
// Returns the pins with z and `axis` swapped.
[[nodiscard]] Pins swap_axes(Pins pins, int axis);
// Returns the pins that smaller rungs keep.
[[nodiscard]] Pins of_smaller_rungs(Pins pins);

}  // namespace znni
