// Shapes through the net for one choice of input extent, S and pooling modes.
//
// A *patch* is what one step of the engine turns from input voxels into dense output voxels. Where every
// pooling makes all its fragments (MPF) at once, the net runs once per patch. Otherwise it runs in several
// *passes*, each of which computes some of the fragments:
// - A plain pooling keeps one offset: the net runs once for each, on a window of the patch shifted by it (the
//   naive method when all poolings are plain; ZNNi section V).
// - Fragments in groups: one pass makes those of a few offsets, so that they never live all at once. What the
//   pooling reads is held, and only the nodes from it on run for the next group (depth-first execution); or
//   nothing is held, and the whole net runs again for each group, on a shifted window.
//
// A *streamed* net goes through the volume along z without ever computing a border twice: its patches are steps of
// a column. Each brings `pass_input.z` new planes, and every tensor begins with the planes of earlier steps that its
// readers still need (planner/geometry/streams.hpp). If it runs on several windows, all steps of a column run on one of
// them, then on the next. So the planes of one window alone are kept.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "planner/geometry/closed_axes.hpp"
#include "primitives/core/fragments.hpp"

namespace znni {

// How one pooling of the network keeps its offsets.
struct PoolingMode {
  PoolMode mode = PoolMode::fragments;
  Vec3 groups = Vec3::cube(1);  // of fragments, per axis; divides the stride; 1 where the mode is plain
  bool held = true;             // with several groups: hold the input, or run the whole net again for each

  PoolingMode() = default;
  PoolingMode(PoolMode of) : mode(of) {}  // all fragments at once, or plain
  PoolingMode(Vec3 in_groups, bool hold) : groups(in_groups), held(hold) {}
  [[nodiscard]] bool holds() const { return held && groups != Vec3::cube(1); }
  auto operator<=>(const PoolingMode&) const = default;
};

// Returns "plain", "mpf", "mpf:2x1x1" (groups, the input held), "mpf:2x1x1:recompute".
[[nodiscard]] std::string to_string(const PoolingMode& mode);

struct GeometryChoice {
  Vec3 pass_input;                 // input extent of one pass
  std::int64_t S = 1;              // patches computed together
  std::vector<PoolingMode> modes;  // one per pooling_nodes(network)
  std::int64_t stem_slab = 0;      // planes of the first pooling's output made at a time; 0: all
  bool streamed = false;           // along z: pass_input.z counts the planes that are new in each step
  int axis = 0;                    // 0: none; 1: z and y are swapped; 2: z and x; in the net and in every extent
                                   // and position (planner/network/swap_axes.hpp), so that it is streamed along y or x
  Vec3 closed = {};                // 1 along axes of which the patch has the whole volume (closed_axes.hpp): one of
                                   // this extent, frame included, or smaller; 0 along others
  bool operator==(const GeometryChoice&) const = default;
};

// The nodes up to the first pooling, if they run slab after slab along z. The tensors between them, the largest of all,
// then never exist as a whole (BrainSlug's depth-first execution of a stack).
struct Stem {
  int last = -1;                     // its pooling; -1: there is no stem
  Shape5 input;                      // what one slab reads
  std::int64_t step = 1;             // planes of the input per plane of the output
  std::vector<std::int64_t> begins;  // first output plane of each slab; the last one may overlap the one before
};

// Planes of earlier steps that a streamed net keeps along z; zeros where patches are independent.
struct Histories {
  std::vector<std::int64_t> kept;  // per value: planes that its tensor has before the new ones
  // Per node: how many of them it reads of its first input; of others it reads none. Below 0: it passes over as many
  // new ones, because its stride is longer than its window.
  std::vector<std::int64_t> read;
  // Per node: as many planes of what it writes, from the beginning of a stream, depend on what came before it. No node
  // reads them: a step that would write no others can do without the node.
  std::vector<std::int64_t> idle;
};

// One run of the net, or of the nodes behind a held pooling.
struct Pass {
  Vec3 shift;                // where its input begins in the patch
  Vec3 offset;               // of its fragments' voxels in the dense output: shift + offsets of the groups
  int first_node = -1;       // nodes before it have run in an earlier pass, at the same shift; -1: at a new one
  std::vector<Vec3> begins;  // per Geometry::held: voxel of the pooling's input at which its view begins
};

struct Geometry {
  GeometryChoice choice;
  std::vector<LayerProblem> problems;  // per node; S counts fragments; in the stem those of one slab
  std::vector<Shape5> values;          // per value: of a pass, [0] its input; between nodes of the stem, of a slab;
                                       // of a streamed net the new planes alone; without margins of closed axes
  Histories histories;
  ClosedAxes closed;
  Stem stem;
  std::array<AxisFragments, 3> fragments;  // of the output value of one pass, per axis z, y, x
  std::vector<int> held;                   // poolings whose input is held, rising node numbers
  std::vector<Pass> passes;                // in the order to be run, shift after shift; at least one
  std::vector<std::int64_t> runs;          // per node: how often it runs in a patch, or in a step
  std::int64_t windows = 1;                // of a patch, or of a step: passes that read the input
  std::int64_t phases = 1;                 // windows of a streamed net, which run one after the other, a column each
  Vec3 period = Vec3::cube(1);             // period(network): patches begin at multiples of it
  std::int64_t lead = 0;                   // planes of zeros that a stream begins with, so that steps end in period
  Vec3 read_begin;                         // where in the patch a pass reads its input, before its shift is added:
                                           // behind what is not read of a closed axis
  Vec3 patch_input;                        // extent a patch depends on: pass_input + the largest shift; of a
                                           // step also the fov - 1 planes before the new ones
  Vec3 patch_output;                       // dense extent it writes: patch_input - fov + 1; of several phases each
                                           // writes a part of the voxels, all of them once
};

// Requires check(network). A plain pooling must divide (n - window) by its stride as well. So must one in groups that
// holds nothing, up to its last offset. No voxel is read in vain, and for every combination of modes patch_output =
// stride * n, stride and n those of the output. A pooling may hold its input where nothing else is alive. A stem needs
// a chain of nodes, one input and one channel, so that a slab of the input lies in one piece. Branches that meet need
// equal fragments. At most 2^16 passes. What can be streamed says planner/geometry/streams.hpp. The error says which
// node's extent does not divide or is too small.
[[nodiscard]] Result<Geometry> make_geometry(const Network& network, const GeometryChoice& choice);
// Makes the geometry of a part of a net, whose S inputs may be fragments of one patch: they may be streamed together.
[[nodiscard]] Result<Geometry> make_part_geometry(const Network& part, const GeometryChoice& choice);

// Returns the legal pass_input extents along one axis, rising, up to `most`, for the given modes; none if branches make
// different fragments or the number of modes is wrong. A patch writes a period at least. The axes are independent:
// extents that are legal along each are legal together. Cheap: an arithmetic progression.
[[nodiscard]] std::vector<std::int64_t> legal_extents(const Network& network, const std::vector<PoolingMode>& modes,
                                                      int axis, std::int64_t most);

// Returns the axes, as choice.closed has them, along which such a patch has the whole volume, frame included. Axes
// along which the network computes no voxels beyond it are left out; none if its stem runs in slabs, or check_closed()
// fails.
[[nodiscard]] Vec3 axes_to_close(const Network& network, const GeometryChoice& choice, Vec3 volume);

// Passes of a patch, or of a step: of phase t those from t * pass_count() on.
[[nodiscard]] std::size_t pass_count(const Geometry& geometry);
// Returns the number of dense voxels that they write.
[[nodiscard]] std::int64_t written_voxels(const Geometry& geometry);

// Returns how often a call of `node` runs in a patch, or in a step; the input, -1, once a window.
[[nodiscard]] std::int64_t runs_of(const Geometry& geometry, int node);

// Returns the shape of the whole tensor of a value, planes of earlier steps and margins included.
[[nodiscard]] Shape5 tensor_shape(const Geometry& geometry, int value);
// Returns the voxels of a tensor around those that its node writes: planes of earlier steps, and margins.
[[nodiscard]] Border around_written(const Geometry& geometry, int value);
// Returns the voxels of the tensor of `value` around those that `node` reads, which has it as its input `input`.
[[nodiscard]] Border around_read(const Geometry& geometry, int node, int input, int value);
// Returns how often the tensor of a value is filled in a step: each time has a history of its own.
[[nodiscard]] std::int64_t history_runs(const Geometry& geometry, int value);
// Returns the bytes of all of them in `format`.
[[nodiscard]] std::int64_t history_bytes(const Geometry& geometry, int value, Format format);

// Returns where voxel `v` of a pass's fragment (row-major index) lies in the dense output of the patch, axes swapped as
// in the geometry: stride * v + fragment offset + pass offset.
[[nodiscard]] Vec3 dense_position(const Geometry& geometry, std::size_t pass, std::int64_t fragment, Vec3 v);

}  // namespace znni
