// Puts the voxels of max-pooling fragments back to their dense positions (ZNNi section V) and the patches
// back into the volume: the last step of a pass.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/geometry/patch_grid.hpp"
#include "primitives/core/executor.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// The destination of the output of one of the S patches of a pass. A place that owns nothing is not written.
struct StitchTarget {
  GridPatch patch;
  OutputSlab slab;  // holds every dense plane the place owns
};

// Stitches the outputs of one geometry, whose axes the places have; slabs have the volume's. Knows, per axis, which
// fragment holds a dense coordinate; allocates only when built.
class Stitcher {
 public:
  explicit Stitcher(const Geometry& geometry);

  // Writes, of every place, the owned voxels that pass `pass` computes (planner/geometry/geometry.hpp, dense_position).
  // `out` is the planar output tensor of that pass, S * fragments x f_out x n_out; targets.size() == S. Work
  // is shared out by dense planes among the workers of `executor` when there is much of it.
  void stitch(std::size_t pass, const TensorView& out, std::span<const StitchTarget> targets, Executor& executor) const;
  // Returns where in its slab an output of shape `out` goes, if stitch() would only copy it: it is that of one patch,
  // which owns all of it, without fragments and of one pass, in float32.
  [[nodiscard]] std::optional<TensorView> output_in_place(const Shape5& out,
                                                          std::span<const StitchTarget> targets) const;

 private:
  // A dense coordinate as a fragment of the pass has it; fragment < 0: another pass computes it.
  struct Source {
    std::int64_t fragment = -1;
    std::int64_t v = 0;
  };
  [[nodiscard]] Source source(int axis, std::size_t pass, std::int64_t dense) const;
  void stitch_plane(std::size_t pass, const TensorView& out, std::int64_t s, std::int64_t j, std::int64_t dense_z,
                    const StitchTarget& target) const;
  void stitch_row(std::size_t pass, const float* row, const TensorView& out, Vec3 fragment, const StitchTarget& target,
                  std::int64_t to) const;

  int axis_;
  std::array<AxisFragments, 3> fragments_;
  std::array<std::vector<std::int64_t>, 3> fragment_of_residue_;  // -1 where no fragment has that offset
  std::vector<Vec3> offsets_;                                     // of passes
  Vec3 counts_;                                                   // fragments per axis
};

}  // namespace znni
