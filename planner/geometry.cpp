#include "planner/geometry.hpp"

#include <algorithm>
#include <string>

#include "planner/exchange.hpp"
#include "planner/head.hpp"
#include "planner/overloaded.hpp"
#include "planner/passes.hpp"
#include "planner/streams.hpp"

namespace znni {
namespace {

constexpr std::array<const char*, 3> axis_names = {"z", "y", "x"};

using Fragments3 = std::array<AxisFragments, 3>;
using ValueFragments = std::vector<AxisFragments>;  // per value, along one axis

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::size_t index(int value) { return static_cast<std::size_t>(value); }

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

// Offsets of `stride` along `axis` that one pass keeps; `whole`: that all passes of one window keep.
std::int64_t kept_offsets(const PoolingMode& mode, std::int64_t stride, int axis, bool whole) {
  if (mode.mode == PoolMode::plain) return 1;
  return whole && mode.held ? stride : stride / mode.groups[axis];
}

// Fragments of every value: those of one pass, or of all passes of one window. Branches that meet must agree: their
// voxels lie in the same places only then.
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
    if (pool != nullptr) {
      const std::int64_t stride = pool->stride[axis];
      out = in.pooled(stride, kept_offsets(modes[poolings++], stride, axis, whole));
    }
    fragments.push_back(std::move(out));
  }
  return fragments;
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

// `inputs`: what the node reads; `before` counts the fragments of its first input.
LayerProblem node_problem(const Node& node, const std::vector<Shape5>& inputs, const PoolingMode& mode, Vec3 before) {
  const Shape5 in = inputs.front();
  const int count = static_cast<int>(inputs.size());
  return std::visit(Overloaded{[&](const Convolution& c) -> LayerProblem {
                                 return ConvProblem{in, c.f_out, c.k, c.dilation, c.activation, count == 2};
                               },
                               [&](const Pooling& p) -> LayerProblem {
                                 return PoolProblem{in, p.window, p.stride, p.kind, mode.mode, before, mode.groups};
                               },
                               [&](const Activate& a) -> LayerProblem {
                                 return ActivationProblem{in, a.activation};
                               },
                               [&](const Softmax&) -> LayerProblem { return SoftmaxProblem{in}; },
                               [&](const ScaleShift&) -> LayerProblem { return ScaleShiftProblem{in}; },
                               [&](const Add& a) -> LayerProblem {
                                 return AddProblem{in, count, a.activation};
                               },
                               [&](const Concat&) -> LayerProblem { return ConcatProblem{inputs}; }},
                    node.operation);
}

// A pooling must waste no voxel: what a window of the patch reads is then known from its output alone. A held input
// serves all offsets of the stride.
Result<void> check_aligned(const LayerProblem& problem, const PoolingMode& mode) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr) return {};
  const Vec3 offsets = mode.holds() ? pool->stride : pooled_offsets(*pool);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t rest = pool->in.n[axis] - pool->window[axis] - offsets[axis] + 1;
    if (rest % pool->stride[axis] == 0) continue;
    const auto name = [&](const char* what) { return std::string(what) + "." + axis_names[index(axis)]; };
    const std::string others = offsets[axis] == 1 ? "" : " - " + std::to_string(offsets[axis] - 1) + " more offsets";
    return invalid(name("n") + " - " + name("window") + others + " = " + std::to_string(rest) +
                   " is not divisible by " + name("stride") + " = " + std::to_string(pool->stride[axis]));
  }
  return {};
}

Result<void> check_node(const LayerProblem& problem, const PoolingMode& mode) {
  if (Result<void> sound = check(problem); !sound) return sound;
  return check_aligned(problem, mode);
}

std::vector<Shape5> shapes_read(const Geometry& geometry, const Node& node, std::size_t number) {
  std::vector<Shape5> shapes;
  for (const int input : node.inputs) shapes.push_back(geometry.values[index(input)]);
  shapes.front().n.z += geometry.histories.read[number];
  return shapes;
}

// Fills `problems` and `values` of the geometry.
Result<void> walk_nodes(const Network& network, const std::array<ValueFragments, 3>& fragments, Geometry& geometry) {
  std::size_t poolings = 0;
  for (const Node& node : network.nodes) {
    const bool pools = std::holds_alternative<Pooling>(node.operation);
    const PoolingMode mode = pools ? geometry.choice.modes[poolings++] : PoolingMode(PoolMode::plain);
    const Vec3 before = fragment_counts(fragments, node.inputs.front());
    const std::vector<Shape5> inputs = shapes_read(geometry, node, geometry.problems.size());
    LayerProblem problem = node_problem(node, inputs, mode, before);
    if (Result<void> sound = check_node(problem, mode); !sound) return sound.error().within("node " + node.name);
    geometry.values.push_back(output_shape(problem));
    geometry.problems.push_back(std::move(problem));
  }
  return {};
}

// Turns the problems and values of the head into those of one slab.
Result<void> cut_head(const Network& network, const std::array<ValueFragments, 3>& fragments, Geometry& geometry) {
  Result<Head> head = make_head(network, geometry);
  if (!head) return head.error();
  const std::size_t last = index(head->last);
  Geometry slab;
  slab.choice = geometry.choice;
  slab.values = {head->input};
  slab.histories = no_histories(network);
  if (Result<void> walked = walk_nodes(network, fragments, slab); !walked && slab.problems.size() <= last) {
    return walked.error();
  }
  for (std::size_t node = 0; node <= last; ++node) {
    geometry.problems[node] = slab.problems[node];
    if (node > 0) geometry.values[node] = slab.values[node];
  }
  geometry.head = *std::move(head);
  return {};
}

std::array<AxisFragments, 3> last_of(const std::array<ValueFragments, 3>& values) {
  return {values[0].back(), values[1].back(), values[2].back()};
}

Result<void> check_axis(const Network& network, const GeometryChoice& choice) {
  if (choice.axis < 0 || choice.axis > 2) return invalid("axis " + std::to_string(choice.axis) + "; 0 to 2 is right");
  if (choice.axis == 0 || (choice.streamed && network.spatial_rank == 3)) return {};
  return invalid("axes are exchanged for streams of nets of three axes only");
}

Result<Geometry> geometry_of(const Network& network, const GeometryChoice& choice) {
  if (Result<void> sound = check_modes(network, choice.modes); !sound) return sound.error();
  Geometry geometry;
  geometry.choice = choice;
  geometry.values = {{choice.S, network.f_in, choice.pass_input}};
  if (Result<void> sound = check_shape(geometry.values[0]); !sound) return sound.error().within("input");
  Result<Histories> histories = make_histories(network, choice);
  if (!histories) return histories.error();
  geometry.histories = *std::move(histories);
  const Result<std::array<ValueFragments, 3>> fragments = all_fragments(network, choice.modes, false);
  if (!fragments) return fragments.error();
  const Result<std::array<ValueFragments, 3>> whole = all_fragments(network, choice.modes, true);
  if (!whole) return whole.error();
  if (Result<void> walked = walk_nodes(network, *fragments, geometry); !walked) return walked.error();
  geometry.fragments = last_of(*fragments);
  if (choice.head_slab != 0) {
    if (Result<void> cut = cut_head(network, *fragments, geometry); !cut) return cut.error();
  }
  if (Result<void> laid = lay_passes(network, last_of(*whole), geometry); !laid) return laid.error();
  const Vec3 fov = reaches(network).back().fov;
  if (choice.streamed) geometry.read_begin.z = fov.z - 1;
  geometry.patch_input = geometry.read_begin + choice.pass_input + geometry.passes.back().window;
  geometry.patch_output = geometry.patch_input - fov + Vec3::cube(1);
  return geometry;
}

}  // namespace

std::string to_string(const PoolingMode& mode) {
  if (mode.mode == PoolMode::plain) return "plain";
  if (mode.groups == Vec3::cube(1)) return "mpf";
  return "mpf:" + to_string(mode.groups) + (mode.held ? "" : ":anew");
}

Result<Geometry> make_geometry(const Network& network, const GeometryChoice& choice) {
  if (!choice.streamed || choice.S == 1) return make_part_geometry(network, choice);
  return Error{ErrorCode::unsupported, "the net cannot be streamed along z: " + std::to_string(choice.S) +
                                           " patches are computed together; 1 is right"};
}

Result<Geometry> make_part_geometry(const Network& part, const GeometryChoice& choice) {
  if (Result<void> sound = check_axis(part, choice); !sound) return sound.error();
  return choice.axis == 0 ? geometry_of(part, choice) : geometry_of(exchanged(part, choice.axis), choice);
}

// Along one axis the extents n of a value, of stride P and largest fragment offset o, obey
//   pass_input = fov + P (n - 1) + o
// through every kind of node: a legal extent is one whose output has a whole, positive n.
std::vector<std::int64_t> legal_extents(const Network& network, const std::vector<PoolingMode>& modes, int axis,
                                        std::int64_t most) {
  if (!check_modes(network, modes)) return {};
  const Result<ValueFragments> fragments = axis_fragments(network, modes, axis, true);
  if (!fragments) return {};
  const AxisFragments& out = fragments->back();
  const std::int64_t least = reaches(network).back().fov[axis] + out.offsets.back();
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = least; extent <= most; extent += out.stride) extents.push_back(extent);
  return extents;
}

std::int64_t runs_of(const Geometry& geometry, int node) {
  return node < 0 ? geometry.windows : geometry.runs[index(node)];
}

Shape5 tensor_shape(const Geometry& geometry, int value) {
  Shape5 shape = geometry.values[index(value)];
  shape.n.z += geometry.histories.kept[index(value)];
  return shape;
}

std::int64_t skipped_planes(const Geometry& geometry, int node, int input, int value) {
  const std::int64_t read = input == 0 ? geometry.histories.read[index(node)] : 0;
  return geometry.histories.kept[index(value)] - read;
}

std::int64_t history_runs(const Geometry& geometry, int value) {
  return value <= geometry.head.last + 1 ? geometry.windows : geometry.runs[index(value) - 1];
}

std::int64_t history_bytes(const Geometry& geometry, int value, Format format) {
  Shape5 shape = geometry.values[index(value)];
  shape.n.z = geometry.histories.kept[index(value)];
  return mul(history_runs(geometry, value), tensor_bytes(shape, format));
}

Vec3 dense_position(const Geometry& geometry, std::size_t pass, std::int64_t fragment, Vec3 v) {
  const Fragments3& all = geometry.fragments;
  const Vec3 place = fragment_at(fragment, {count_of(all[0]), count_of(all[1]), count_of(all[2])});
  Vec3 position = geometry.passes[pass].offset;
  for (int axis = 0; axis < 3; ++axis) {
    const AxisFragments& own = all[index(axis)];
    position[axis] += own.stride * v[axis] + own.offsets[static_cast<std::size_t>(place[axis])];
  }
  return position;
}

}  // namespace znni
