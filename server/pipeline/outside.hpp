// Sets, in the tensor of a patch, what readers take for padding (planner/network/padding.hpp).
#pragma once

#include <span>

#include "planner/network/network.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Sets the voxels of `view` that are outside to `value`. Voxel v of its input s is voxel starts[s] + v of a value of
// extent `whole`, which is inside from border.begin to whole - border.end. Writes nothing where all of a patch is
// inside. float32, any layout, axes as the view has them; starts.size() == view.shape.S.
void fill_outside(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole, float value,
                  Executor& executor);

// Sets the voxels that are outside to the nearest one inside, all else as above. The first `kept` planes of a stream
// are of earlier steps: if all planes lie behind the value, those stay and the new ones repeat the last of them. Any
// other view that has nothing inside becomes zero: nothing of the volume reads it.
void fill_edges(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                std::int64_t kept, Executor& executor);

}  // namespace znni
