#include "primitives/gpu/pool_view.hpp"

#include <array>

#include "primitives/gpu/views.hpp"

namespace znni::cuda {

PoolArg pool_arg(const PoolProblem& pool, const TensorView& in, const TensorView& out, int width) {
  const bool planar = out.format.layout == Layout::planar;
  const Vec3 offsets = pooled_offsets(pool);
  const Vec3 positions = out.shape.n * offsets;
  PoolArg arg;
  arg.planar = planar;
  arg.rows.S = in.shape.S;
  arg.rows.channels = planar ? in.shape.f : 1;
  arg.rows.z = positions.z;
  arg.rows.y = positions.y;
  arg.rows.slow = planar ? 1 : static_cast<int>(positions.x);
  arg.rows.fast = static_cast<int>(planar ? positions.x : in.shape.f / width);
  arg.window = extent_of(pool.window);
  arg.stride = extent_of(pool.stride);
  arg.dilation = extent_of(pool.dilation);
  arg.offsets = extent_of(offsets);
  arg.before = extent_of(pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.fragments);
  arg.in = steps_of(in, width);
  arg.out = steps_of(out, width);
  arg.average = pool.kind != PoolKind::max;
  arg.inside = pool.kind == PoolKind::average_inside;
  arg.factor = arg.average ? 1.0F / static_cast<float>(voxels(pool.window)) : 1.0F;
  return arg;
}

int pool_width(const TensorView& in, const TensorView& out) {
  const std::array<TensorView, 2> views = {in, out};
  return out.format.layout == Layout::planar ? 1 : vector_width(views);
}

}  // namespace znni::cuda
