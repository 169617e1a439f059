#include "planner/geometry/geometry_family.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "planner/geometry/passes.hpp"
#include "planner/geometry/stem.hpp"
#include "planner/geometry/streams.hpp"
#include "planner/network/operation_problem.hpp"
#include "planner/network/reading.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/network/tile_bound.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::array<const char*, 3> axis_names = {"z", "y", "x"};

using ValueFragments = std::vector<AxisFragments>;  // per value, along one axis

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<void> check_groups(const PoolingMode& mode, Vec3 stride) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t groups = mode.groups[axis];
    const std::string text = std::to_string(groups) + " groups along " + axis_names[index(axis)];
    if (groups < 1 || stride[axis] % groups != 0) {
      return invalid(text + "; a divisor of its stride " + std::to_string(stride[axis]) + " is right");
    }
    if (groups > 1 && mode.mode == PoolMode::plain) return invalid(text + "; a plain pooling has none");
  }
  return {};
}

// Returns how many offsets of `stride` along `axis` one pass keeps; `whole`: all passes of one window.
std::int64_t kept_offsets(const PoolingMode& mode, std::int64_t stride, int axis, bool whole) {
  if (mode.mode == PoolMode::plain) return 1;
  return whole && mode.held ? stride : stride / mode.groups[axis];
}

Result<std::array<ValueFragments, 3>> all_fragments(const Network& network, const std::vector<PoolingMode>& modes,
                                                    bool whole) {
  std::array<ValueFragments, 3> result;
  for (int axis = 0; axis < 3; ++axis) {
    Result<ValueFragments> along = axis_fragments(network, modes, axis, whole);
    if (!along) return along.error();
    result[index(axis)] = *std::move(along);
  }
  return result;
}

std::int64_t count_of(const AxisFragments& fragments) { return static_cast<std::int64_t>(fragments.offsets.size()); }

Vec3 fragment_counts(const std::array<ValueFragments, 3>& fragments, int value) {
  const std::size_t i = index(value);
  return {count_of(fragments[0][i]), count_of(fragments[1][i]), count_of(fragments[2][i])};
}

// Returns the problem that a node computes. `inputs`: what the node reads; `before` counts the fragments of its first
// input; `streamed`: the planes that a crop takes away at its begin are not among them; `closed`: nor what it takes
// away along such axes.
LayerProblem node_problem(const Node& node, const std::vector<Shape5>& inputs, const PoolingMode& mode, Vec3 before,
                          bool streamed, Vec3 closed) {
  const Vec3 open = Vec3::cube(1) - closed;
  const Vec3 begins = {streamed ? 0 : open.z, open.y, open.x};
  return problem_of(node.operation, {inputs, mode.mode, mode.groups, before, begins, open});
}

// Checks that a pooling wastes no voxel. A held input serves all offsets of the stride.
Result<void> check_pool_aligned(const PoolProblem& pool, const PoolingMode& mode) {
  const Vec3 offsets = mode.holds() ? pool.stride : pooled_offsets(pool);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t rest = pool.in.n[axis] - spanned(pool)[axis] - offsets[axis] + 1;
    if (rest % pool.stride[axis] == 0) continue;
    const auto name = [&](const char* what) { return std::string(what) + "." + axis_names[index(axis)]; };
    const std::string others = offsets[axis] == 1 ? "" : " - " + std::to_string(offsets[axis] - 1) + " more offsets";
    return invalid(name("n") + " - " + name("window") + others + " = " + std::to_string(rest) +
                   " is not divisible by " + name("stride") + " = " + std::to_string(pool.stride[axis]));
  }
  return {};
}

// Checks that a node with a stride wastes no voxel: what a window of the patch reads is then known from its output
// alone.
Result<void> check_aligned(const Node& node, const LayerProblem& problem, const PoolingMode& mode) {
  if (const auto* pool = std::get_if<PoolProblem>(&problem)) return check_pool_aligned(*pool, mode);
  const Reading reading = reading_of(node.operation);
  const Vec3 n = input_shape(problem, 0).n;
  const Vec3 rest = (n - reading.window) % reading.stride;
  if (rest == Vec3{}) return {};
  return invalid("n = " + to_string(n) + " leaves " + to_string(rest) + " voxels unread at the stride " +
                 to_string(reading.stride));
}

Result<void> check_node(const Node& node, const LayerProblem& problem, const PoolingMode& mode) {
  if (Result<void> sound = check(problem); !sound) return sound;
  return check_aligned(node, problem, mode);
}

std::array<AxisFragments, 3> last_of(const std::array<ValueFragments, 3>& values) {
  return {values[0].back(), values[1].back(), values[2].back()};
}

// Checks choice.closed; the axes of `network` are swapped already.
Result<void> check_closed_axes(const Network& network, const GeometryChoice& choice) {
  if (choice.closed.z != 0 && choice.streamed) return invalid("closed along z, along which it is streamed");
  if (choice.closed != Vec3{} && choice.stem_slab != 0) return invalid("closed, and its stem runs in slabs");
  if (Result<void> sound = check_closed(network, choice.closed); !sound) return sound;
  const bool is_bound = is_tile_bound(network);
  if (is_bound && choice.streamed) return invalid("streamed, and it is bound to its window");
  if (is_bound && choice.stem_slab != 0) return invalid("its stem runs in slabs, and it is bound to its window");
  if (is_bound && choice.S != 1) return invalid("several windows are computed together; 1 is right");
  return check_normalised(network, choice.closed);
}

Result<void> check_axis(const Network& network, const GeometryChoice& choice) {
  if (choice.axis < 0 || choice.axis > 2) return invalid("axis " + std::to_string(choice.axis) + "; 0 to 2 is right");
  if (choice.axis != 0 && !can_swap_axes(network)) return invalid("axes of a network that shuffles stay as they are");
  if (choice.axis == 0 || (choice.streamed && network.spatial_rank == 3)) return {};
  return invalid("axes are swapped for streams of nets of three axes only");
}

}  // namespace

Result<void> check_modes(const Network& network, const std::vector<PoolingMode>& modes) {
  const std::vector<int> poolings = pooling_nodes(network);
  if (modes.size() != poolings.size()) {
    return invalid("modes of " + std::to_string(modes.size()) + " poolings; the network has " +
                   std::to_string(poolings.size()));
  }
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const Node& node = network.nodes[index(poolings[i])];
    if (Result<void> sound = check_groups(modes[i], std::get<Pooling>(node.operation).stride); !sound) {
      return sound.error().within("node " + node.name);
    }
  }
  return {};
}

Result<ValueFragments> axis_fragments(const Network& network, const std::vector<PoolingMode>& modes, int axis,
                                      bool whole) {
  ValueFragments fragments(1);
  std::size_t poolings = 0;
  for (const Node& node : network.nodes) {
    const AxisFragments& in = fragments[index(node.inputs.front())];
    const bool meet =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](int input) { return fragments[index(input)] == in; });
    if (!meet) {
      return invalid("node " + node.name + ": branches meet with other fragments along " + axis_names[index(axis)] +
                     ": their poolings need the same modes");
    }
    const auto* pool = std::get_if<Pooling>(&node.operation);
    AxisFragments out = in;
    if (pool != nullptr && !pool->strided) {
      const std::int64_t stride = pool->stride[axis];
      out = in.pooled(stride, kept_offsets(modes[poolings++], stride, axis, whole));
    }
    fragments.push_back(std::move(out));
  }
  return fragments;
}

bool FamilyOrder::operator()(const GeometryChoice& a, const GeometryChoice& b) const {
  const auto key = [](const GeometryChoice& of) {
    return std::tie(of.streamed, of.axis, of.closed, of.S, of.stem_slab, of.modes);
  };
  return key(a) < key(b);
}

// Finds the fragments of every value, by pass and by window, and the mode of every node.
Result<void> GeometryFamily::find_fragments() {
  const std::vector<PoolingMode>& modes = common_.choice.modes;
  const Result<std::array<ValueFragments, 3>> fragments = all_fragments(network_, modes, false);
  if (!fragments) return fragments.error();
  const Result<std::array<ValueFragments, 3>> whole = all_fragments(network_, modes, true);
  if (!whole) return whole.error();
  common_.fragments = last_of(*fragments);
  whole_ = last_of(*whole);
  std::size_t poolings = 0;
  for (const Node& node : network_.nodes) {
    const auto* pool = std::get_if<Pooling>(&node.operation);
    const bool pools = pool != nullptr && !pool->strided;
    fragments_before_.push_back(fragment_counts(*fragments, node.inputs.front()));
    modes_.push_back(pools ? modes[poolings++] : PoolingMode(PoolMode::plain));
  }
  return {};
}

Result<GeometryFamily> GeometryFamily::make(const Network& network, const GeometryChoice& like) {
  if (!like.streamed || like.S == 1) return make_part(network, like);
  return Error{ErrorCode::unsupported, "the net cannot be streamed along z: " + std::to_string(like.S) +
                                           " patches are computed together; 1 is right"};
}

Result<GeometryFamily> GeometryFamily::make_part(const Network& part, const GeometryChoice& like) {
  if (Result<void> sound = check_axis(part, like); !sound) return sound.error();
  GeometryFamily family(swap_axes(part, like.axis));
  if (Result<void> sound = check_modes(family.network_, like.modes); !sound) return sound.error();
  if (Result<void> sound = check_closed_axes(family.network_, like); !sound) return sound.error();
  Geometry& common = family.common_;
  common.choice = like;
  common.closed = close_axes(family.network_, like.closed);
  Result<Histories> histories = make_histories(family.network_, like);
  if (!histories) return histories.error();
  common.histories = *std::move(histories);
  if (Result<void> found = family.find_fragments(); !found) return found.error();
  if (like.stem_slab != 0) {
    if (Result<void> sound = check_stem(family.network_, like); !sound) return sound.error();
    common.stem.last = pooling_nodes(family.network_).front();
  }
  if (Result<void> counted = count_passes(family.network_, family.whole_, common); !counted) return counted.error();
  family.last_window_ = last_shift(family.whole_);
  family.reach_ = reaches(family.network_).back();
  common.period = period(family.network_);
  if (like.closed != Vec3{}) {
    common.read_begin = common.closed.cuts.front().begin;
    family.unread_ = common.closed.cuts.front().begin + common.closed.cuts.front().end;
  }
  if (like.streamed) {
    common.read_begin.z = family.before_.z = family.reach_.fov.z - 1;
    const std::int64_t rest = min_extent(family.network_).z % common.period.z;
    common.lead = rest == 0 ? 0 : common.period.z - rest;
  }
  return family;
}

// Fills `shapes`, which hold the network's input, with the problems and the outputs of the first `nodes` nodes.
// `planes_read`: per node, how many planes of earlier steps it reads of its first input.
Result<void> GeometryFamily::walk(const std::vector<std::int64_t>& planes_read, std::size_t nodes,
                                  Shapes& shapes) const {
  shapes.problems.reserve(nodes);
  shapes.values.reserve(nodes + 1);
  std::vector<Shape5> inputs;
  for (std::size_t number = 0; number < nodes; ++number) {
    const Node& node = network_.nodes[number];
    inputs.clear();
    for (const int input : node.inputs) inputs.push_back(shapes.values[index(input)]);
    inputs.front().n.z += planes_read[number];
    if (common_.choice.closed != Vec3{}) add_padding(static_cast<int>(number), inputs);
    const bool streamed = common_.choice.streamed && static_cast<int>(number) > common_.stem.last;
    LayerProblem problem =
        node_problem(node, inputs, modes_[number], fragments_before_[number], streamed, common_.choice.closed);
    if (Result<void> sound = check_node(node, problem, modes_[number]); !sound) {
      return sound.error().within("node " + node.name);
    }
    shapes.values.push_back(output_shape(problem));
    shapes.problems.push_back(std::move(problem));
  }
  return {};
}

// Lengthens what the node reads, along closed axes, by what it reads of margins.
void GeometryFamily::add_padding(int number, std::vector<Shape5>& inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int value = network_.nodes[index(number)].inputs[i];
    const Border read = read_beyond(common_.closed, number, static_cast<int>(i), value);
    inputs[i].n = inputs[i].n + read.begin + read.end;
  }
}

// Turns the problems and values of the stem into those of one slab.
Result<void> GeometryFamily::cut_stem(Geometry& geometry) const {
  Result<Stem> stem = make_stem(network_, geometry);
  if (!stem) return stem.error();
  const std::size_t last = index(stem->last);
  Shapes slab{{}, {stem->input}};
  const std::vector<std::int64_t> nothing(last + 1, 0);
  if (Result<void> walked = walk(nothing, last + 1, slab); !walked) return walked.error();
  for (std::size_t node = 0; node <= last; ++node) {
    geometry.problems[node] = std::move(slab.problems[node]);
    if (node > 0) geometry.values[node] = slab.values[node];
    geometry.runs[node] *= static_cast<std::int64_t>(stem->begins.size());
  }
  geometry.stem = *std::move(stem);
  return {};
}

Result<Geometry> GeometryFamily::at(Vec3 pass_input) const {
  Shapes shapes{{}, {{common_.choice.S, network_.f_in, pass_input}}};
  if (Result<void> sound = check_shape(shapes.values[0]); !sound) return sound.error().within("input");
  shapes.values[0].n = pass_input - unread_;
  if (Result<void> sound = check_shape(shapes.values[0]); !sound) return sound.error().within("input");
  if (common_.choice.streamed) {
    if (Result<void> sound = check_new_planes(pass_input.z, std::max(reach_.stride.z, common_.period.z)); !sound)
      return sound.error();
  }
  if (Result<void> walked = walk(common_.histories.read, network_.nodes.size(), shapes); !walked) {
    return walked.error();
  }
  const bool is_one_patch = is_tile_bound(network_);
  if (!is_one_patch && !covers(patch_output(pass_input), common_.period)) {
    return invalid("a patch of " + to_string(pass_input) + " writes less than the period of the strides, " +
                   to_string(common_.period));
  }
  Geometry geometry = common_;
  geometry.choice.pass_input = pass_input;
  geometry.problems = std::move(shapes.problems);
  geometry.values = std::move(shapes.values);
  if (geometry.choice.stem_slab != 0) {
    if (Result<void> cut = cut_stem(geometry); !cut) return cut.error();
  }
  geometry.patch_input = before_ + pass_input + last_window_;
  geometry.patch_output = patch_output(pass_input);
  return geometry;
}

Result<Geometry> GeometryFamily::with_passes(Vec3 pass_input) const {
  Result<Geometry> geometry = at(pass_input);
  if (!geometry) return geometry;
  if (Result<void> laid = lay_passes(network_, whole_, *geometry); !laid) return laid.error();
  return geometry;
}

Vec3 GeometryFamily::patch_output(Vec3 pass_input) const {
  return before_ + pass_input + last_window_ - reach_.fov + Vec3::cube(1);
}

}  // namespace znni
