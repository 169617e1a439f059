#include "planner/geometry.hpp"

#include <algorithm>
#include <string>

#include "planner/overloaded.hpp"

namespace znni {
namespace {

constexpr std::array<const char*, 3> axis_names = {"z", "y", "x"};
constexpr std::int64_t most_passes = std::int64_t{1} << 16;

using Fragments3 = std::array<AxisFragments, 3>;
using ValueFragments = std::vector<AxisFragments>;  // per value, along one axis

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::size_t index(int value) { return static_cast<std::size_t>(value); }

Result<void> check_modes(const Network& network, const std::vector<PoolMode>& modes) {
  const std::size_t wanted = pooling_nodes(network).size();
  if (modes.size() == wanted) return {};
  return invalid("modes of " + std::to_string(modes.size()) + " poolings; the network has " + std::to_string(wanted));
}

// Fragments of every value. Branches that meet must agree: their voxels lie in the same places only then.
Result<ValueFragments> axis_fragments(const Network& network, const std::vector<PoolMode>& modes, int axis) {
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
      out = modes[poolings++] == PoolMode::fragments ? in.pooled(stride) : in.strided(stride);
    }
    fragments.push_back(std::move(out));
  }
  return fragments;
}

Result<std::array<ValueFragments, 3>> all_fragments(const Network& network, const std::vector<PoolMode>& modes) {
  std::array<ValueFragments, 3> result;
  for (int axis = 0; axis < 3; ++axis) {
    Result<ValueFragments> along = axis_fragments(network, modes, axis);
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

// `before` counts the fragments of the node's input.
LayerProblem node_problem(const Node& node, const std::vector<Shape5>& values, PoolMode mode, Vec3 before) {
  const Shape5 in = values[index(node.inputs.front())];
  const auto concat = [&] {
    ConcatProblem problem;
    for (const int input : node.inputs) problem.in.push_back(values[index(input)]);
    return problem;
  };
  const int count = static_cast<int>(node.inputs.size());
  return std::visit(Overloaded{[&](const Convolution& c) -> LayerProblem {
                                 return ConvProblem{in, c.f_out, c.k, c.dilation, c.activation};
                               },
                               [&](const Pooling& p) -> LayerProblem {
                                 return PoolProblem{in, p.window, p.stride, p.kind, mode, before};
                               },
                               [&](const Activate& a) -> LayerProblem {
                                 return ActivationProblem{in, a.activation};
                               },
                               [&](const Softmax&) -> LayerProblem { return SoftmaxProblem{in}; },
                               [&](const ScaleShift&) -> LayerProblem { return ScaleShiftProblem{in}; },
                               [&](const Add& a) -> LayerProblem {
                                 return AddProblem{in, count, a.activation};
                               },
                               [&](const Concat&) -> LayerProblem { return concat(); }},
                    node.operation);
}

// A plain pooling must waste no voxel: what a window of the patch reads is then known from its output alone.
Result<void> check_aligned(const LayerProblem& problem) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::plain) return {};
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t rest = pool->in.n[axis] - pool->window[axis];
    if (rest % pool->stride[axis] == 0) continue;
    const auto name = [&](const char* what) { return std::string(what) + "." + axis_names[index(axis)]; };
    return invalid(name("n") + " - " + name("window") + " = " + std::to_string(rest) + " is not divisible by " +
                   name("stride") + " = " + std::to_string(pool->stride[axis]));
  }
  return {};
}

Result<void> check_node(const LayerProblem& problem) {
  if (Result<void> sound = check(problem); !sound) return sound;
  return check_aligned(problem);
}

// Fills `problems` and `values` of the geometry.
Result<void> walk_nodes(const Network& network, const std::array<ValueFragments, 3>& fragments, Geometry& geometry) {
  std::size_t poolings = 0;
  for (const Node& node : network.nodes) {
    const bool pools = std::holds_alternative<Pooling>(node.operation);
    const PoolMode mode = pools ? geometry.choice.modes[poolings++] : PoolMode::plain;
    const Vec3 before = fragment_counts(fragments, node.inputs.front());
    LayerProblem problem = node_problem(node, geometry.values, mode, before);
    if (Result<void> sound = check_node(problem); !sound) return sound.error().within("node " + node.name);
    geometry.values.push_back(output_shape(problem));
    geometry.problems.push_back(std::move(problem));
  }
  return {};
}

// Shifts that, added to every fragment's offset, give each number in [0, stride) once. Offsets are sums of
// mixed-radix digits, one per pooling; the shifts are the sums of the digits that plain poolings kept at 0.
// They follow from the offsets alone: the lowest number not yet given must be a shift.
std::vector<std::int64_t> missing_shifts(const AxisFragments& fragments) {
  std::vector<bool> given(static_cast<std::size_t>(fragments.stride), false);
  std::vector<std::int64_t> shifts;
  for (std::int64_t shift = 0; shift < fragments.stride; ++shift) {
    if (given[static_cast<std::size_t>(shift)]) continue;
    shifts.push_back(shift);
    for (const std::int64_t offset : fragments.offsets) given[static_cast<std::size_t>(shift + offset)] = true;
  }
  return shifts;
}

Result<std::vector<Vec3>> pass_shifts(const Fragments3& fragments) {
  std::array<std::vector<std::int64_t>, 3> shifts;
  Vec3 counts;
  for (int axis = 0; axis < 3; ++axis) {
    shifts[index(axis)] = missing_shifts(fragments[index(axis)]);
    counts[axis] = static_cast<std::int64_t>(shifts[index(axis)].size());
  }
  if (voxels(counts) > most_passes) {
    return Error{ErrorCode::unsupported, "the plain poolings need " + to_string(counts) +
                                             " passes per patch; the limit is " + std::to_string(most_passes)};
  }
  std::vector<Vec3> passes;
  for (const std::int64_t z : shifts[0]) {
    for (const std::int64_t y : shifts[1]) {
      for (const std::int64_t x : shifts[2]) passes.push_back({z, y, x});
    }
  }
  return passes;
}

}  // namespace

Result<Geometry> make_geometry(const Network& network, const GeometryChoice& choice) {
  if (Result<void> sound = check_modes(network, choice.modes); !sound) return sound.error();
  Geometry geometry;
  geometry.choice = choice;
  geometry.values = {{choice.S, network.f_in, choice.pass_input}};
  if (Result<void> sound = check_shape(geometry.values[0]); !sound) return sound.error().within("input");
  const Result<std::array<ValueFragments, 3>> fragments = all_fragments(network, choice.modes);
  if (!fragments) return fragments.error();
  if (Result<void> walked = walk_nodes(network, *fragments, geometry); !walked) return walked.error();
  for (std::size_t axis = 0; axis < 3; ++axis) geometry.fragments[axis] = (*fragments)[axis].back();
  Result<std::vector<Vec3>> passes = pass_shifts(geometry.fragments);
  if (!passes) return passes.error();
  geometry.passes = *std::move(passes);
  geometry.patch_input = choice.pass_input + geometry.passes.back();
  geometry.patch_output = geometry.patch_input - reaches(network).back().fov + Vec3::cube(1);
  return geometry;
}

// Along one axis the extents n of a value, of stride P and largest fragment offset o, obey
//   pass_input = fov + P (n - 1) + o
// through every kind of node: a legal extent is one whose output has a whole, positive n.
std::vector<std::int64_t> legal_extents(const Network& network, const std::vector<PoolMode>& modes, int axis,
                                        std::int64_t most) {
  if (!check_modes(network, modes)) return {};
  const Result<ValueFragments> fragments = axis_fragments(network, modes, axis);
  if (!fragments) return {};
  const AxisFragments& out = fragments->back();
  const std::int64_t least = reaches(network).back().fov[axis] + out.offsets.back();
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = least; extent <= most; extent += out.stride) extents.push_back(extent);
  return extents;
}

Vec3 dense_position(const Geometry& geometry, std::size_t pass, std::int64_t fragment, Vec3 v) {
  const Fragments3& all = geometry.fragments;
  const Vec3 place = fragment_at(fragment, {count_of(all[0]), count_of(all[1]), count_of(all[2])});
  Vec3 position = geometry.passes[pass];
  for (int axis = 0; axis < 3; ++axis) {
    const AxisFragments& own = all[index(axis)];
    position[axis] += own.stride * v[axis] + own.offsets[static_cast<std::size_t>(place[axis])];
  }
  return position;
}

}  // namespace znni
