// Sets, in the tensor of a patch, what readers take for padding (planner/network/padding.hpp).
#pragma once

#include <span>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/network/network.hpp"
#include "primitives/core/accelerator.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/primitive.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Sets the voxels of `view` that are outside to `value`. Voxel v of its input s is voxel starts[s] + v of a value of
// extent `whole`, which is inside from border.begin to whole - border.end. Writes nothing where all of a patch is
// inside. float32, any layout, axes as the view has them; starts.size() == view.shape.S.
void fill_outside(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole, float value,
                  Executor& executor);

// Sets the voxels that are outside to the nearest one inside, all else as above. The first `kept` planes of a stream
// are of earlier steps. If all planes lie behind the value, those stay and the new ones repeat the last of them. Any
// other view that has nothing inside becomes zero: nothing of the volume reads it.
void fill_edges(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                std::int64_t kept, Executor& executor);

// Sets the voxels that are outside to the voxel as far inside the border voxel, along each axis, else as above. The
// first `kept` planes of a stream stay as they are if the planes of which they are copies are not in the view. A voxel
// becomes zero if it is new, or lies in a plane that is copied, and is a copy of nothing in the view. Nothing of the
// volume reads it.
void fill_reflected(const TensorView& view, std::span<const Vec3> starts, const Border& border, Vec3 whole,
                    std::int64_t kept, Executor& executor);

// The places in the framed volume where the patches of a batch begin, counted as in the geometry.
struct PatchPositions {
  std::vector<Vec3> starts;  // empty: nowhere
  Vec3 volume;               // its extent
};

// The place of the tensors of one value in that value of the whole framed volume, wherever patches lie.
class ValuePlace {
 public:
  ValuePlace() = default;
  ValuePlace(const Network& network, const Geometry& geometry, int value);

  // Returns where the inputs of a tensor begin, margins and `earlier` planes of earlier steps included, in the value,
  // which has extent extent_in(at.volume).
  [[nodiscard]] std::vector<Vec3> starts_in(const PatchPositions& at, std::int64_t earlier) const;
  [[nodiscard]] Vec3 extent_in(Vec3 volume) const;

 private:
  Reach reach_;
  Vec3 origin_;        // of the positions: what the value lags behind, and what is not read
  Vec3 closed_start_;  // where the tensor begins along closed axes
};

// The place in the volume of what a stack of poolings reads.
class StackPlace {
 public:
  StackPlace() = default;                                                  // of a node that is none, or does not pad
  StackPlace(const Network& network, const Geometry& geometry, int node);  // of what `node` reads

  // Tells the layer where its inputs begin; nothing if the patches lie nowhere.
  void tell(const PatchPositions& at, PreparedLayer& layer) const;

 private:
  bool is_told_ = false;
  ValuePlace value_;
  std::int64_t earlier_ = 0;  // planes of earlier steps in the tensor
  Vec3 begin_;                // of what the node reads in the tensor
  Border beyond_;             // what the value has beyond the volume
};

// The outside of one value of a network, wherever its patches lie.
class ValueOutside {
 public:
  ValueOutside() = default;                                                  // nothing does
  ValueOutside(const Network& network, const Geometry& geometry, int node);  // of what `node` writes

  [[nodiscard]] bool is_empty() const { return border_ == Border{}; }
  // Returns whether it is made of voxels of the value itself.
  [[nodiscard]] bool is_copied() const {
    return !is_empty() && (kind_ == OutsideKind::edge || kind_ == OutsideKind::reflect);
  }
  // Sets it in `view`, the tensor of the value with its margins and `earlier` planes of earlier steps. Writes nothing
  // if the patches lie nowhere.
  void fill(const TensorView& view, std::int64_t earlier, const PatchPositions& at, Executor& executor) const;
  // Does the same in device memory, given to Stream::compute.
  [[nodiscard]] Result<void> fill(const TensorView& view, std::int64_t earlier, const PatchPositions& at,
                                  Accelerator& accelerator) const;

 private:
  Border border_;
  OutsideKind kind_ = OutsideKind::zero;
  ValuePlace place_;
};

}  // namespace znni
