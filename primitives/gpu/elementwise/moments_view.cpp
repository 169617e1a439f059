#include "primitives/gpu/elementwise/moments_view.hpp"

#include <algorithm>
#include <array>

#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

// Voxels of a channel that one block adds up: enough that its last steps count little. Assumed until measured.
constexpr std::int64_t voxels_of_part = 8192;
// Channels side by side that a warp reads at once.
constexpr int max_lanes = 32;

std::int64_t rows_of_part(const Shape5& shape) { return div_up(voxels_of_part, shape.n.x); }

// Returns the least power of two that is not below `count`, at most `most`.
int power_of_two(std::int64_t count, int most) {
  int power = 1;
  while (power < count && power < most) power *= 2;
  return power;
}

GroupsArg groups_arg(const Shape5& shape, std::int64_t groups, Joining joining) {
  GroupsArg arg;
  arg.S = shape.S;
  arg.channels = shape.f;
  arg.groups = groups;
  arg.parts = moments_parts(shape);
  arg.count = static_cast<double>(mul(shape.f / groups, voxels(shape.n)));
  arg.joining = joining;
  return arg;
}

}  // namespace

std::int64_t moments_parts(const Shape5& shape) { return div_up(shape.n.z * shape.n.y, rows_of_part(shape)); }

MomentsArg moments_arg(const TensorView& in, Joining joining) {
  const bool planar = in.format.layout == Layout::planar;
  MomentsArg arg;
  arg.S = in.shape.S;
  arg.channels = in.shape.f;
  arg.n = extent_of(in.shape.n);
  arg.in = steps_of(in.strides);
  arg.rows = rows_of_part(in.shape);
  arg.parts = moments_parts(in.shape);
  arg.lanes = planar ? 1 : power_of_two(in.shape.f, max_lanes);
  arg.x_lanes = power_of_two(in.shape.n.x, moments_threads / arg.lanes);
  arg.joining = joining;
  return arg;
}

GroupsArg groups_arg(const NormProblem& norm) {
  GroupsArg arg = groups_arg(norm.in, norm.groups, Joining::sums);
  arg.epsilon = static_cast<double>(norm.epsilon);
  return arg;
}

GroupsArg groups_arg(const GlobalPoolProblem& pool) {
  return groups_arg(pool.in, pool.in.f, pool.kind == PoolKind::max ? Joining::largest : Joining::sums);
}

FactorsArg factors_arg(const TensorView* in, const TensorView& out, const ChannelFactors* factors,
                       Activation activation) {
  const std::array<TensorView, 2> views = {in != nullptr ? *in : out, out};
  FactorsArg arg;
  arg.width = vector_width(views);
  arg.rows = rows_of(out, arg.width);
  arg.planar = out.format.layout == Layout::planar;
  arg.in_steps = row_steps_of(views[0], arg.width);
  arg.out_steps = row_steps_of(out, arg.width);
  arg.in = in != nullptr ? in->data : nullptr;
  arg.out = out.data;
  arg.factors = factors;
  arg.channels = out.shape.f;
  arg.act = act_of(activation.kind);
  arg.alpha = activation.alpha;
  return arg;
}

}  // namespace znni::cuda
