// Turns seconds of a patch's calls into dense output voxels per second of a patch or of a whole volume.
#pragma once

#include <optional>

#include "planner/plan/plan.hpp"
#include "primitives/core/device.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Returns the time per patch to copy all windows into the input tensor and the results into the dense output: bytes
// moved over the memory's rate; stitching fragments writes with gaps. For a streamed net the histories count, too, in
// and out.
[[nodiscard]] Seconds copy_seconds(const Network& network, const Geometry& geometry, const DeviceSpec& spec);

// Returns the time for `bytes` that a GPU, or a CPU beside one, keeps between the steps of a stream. They are read and
// written before the new planes, and behind them, which is four passes over the bytes.
[[nodiscard]] Seconds history_seconds(std::int64_t bytes, const DeviceSpec& spec);

// Returns the time by which the first steps of a stream are shorter than the others, together, because they do without
// some nodes (Histories::idle). Rungs with a GPU run all nodes.
[[nodiscard]] Seconds idle_seconds(const Rung& rung, const Geometry& geometry);

// Returns the dense output voxels that one run of the patch, or a step, is good for: all that it writes (S of them).
// For a volume it is the volume's output over the number of runs, so that overlap of edge patches counts as waste. With
// streams the first steps of a column do, too. Without a volume a stream counts in its steady state, as if it never
// began or ended.
[[nodiscard]] double useful_voxels(const Geometry& geometry, Vec3 fov, const std::optional<Vec3>& volume);

// Returns dense output voxels per second in a volume without end, of patches, or steps, that take `seconds` each.
[[nodiscard]] double endless_rate(const Geometry& geometry, Seconds seconds);

// Returns the operations of this patch over those of an infinite one with the same modes. Layer i does voxels(n_out)
// positions per fragment where an infinite patch needs voxels(patch_output) * runs_i * fragments_i / stride_i. At least
// 1.
[[nodiscard]] double border_cost(const Network& network, const Geometry& geometry);

}  // namespace znni
