// Copies windows of an input volume into the input tensor of a pass.
#pragma once

#include <optional>
#include <span>

#include "primitives/core/executor.hpp"
#include "server/volume/plane_source.hpp"

namespace znni {

// Sets in[s][j][v] to the normalised voxel starts[s] + v of channel j of `volume`, its axes swapped as `axis` says
// (planner/network/swap_axes.hpp), for all elements of `in`; zero where that lies outside the volume. Nothing that
// depends on those is kept (planner/geometry/patch_grid.hpp), but for means over a window that lies around a smaller
// volume. `in` is a planar view, starts.size() == in.shape.S, in.shape.f == volume.shape().f. Large tensors are shared
// out among the workers of `executor`, small ones are copied by the caller. The planes have been waited for.
void read_windows(const PlaneSource& volume, const Normalisation& normalisation, std::span<const Vec3> starts,
                  const TensorView& in, Executor& executor, int axis = 0);
// Reads windows of a volume in memory.
void read_windows(const VolumeView& volume, const Normalisation& normalisation, std::span<const Vec3> starts,
                  const TensorView& in, Executor& executor);

// Returns the window of extent `n` at `start` where it lies in the volume, if read_windows() would only copy it: all of
// it inside, in float32 that is not normalised, planes at even distances. It must not be written.
[[nodiscard]] std::optional<TensorView> window_in_place(const PlaneSource& volume, const Normalisation& normalisation,
                                                        Vec3 start, Vec3 n);

}  // namespace znni
