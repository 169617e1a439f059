#include "primitives/gpu/first_pool_view.hpp"

#include <algorithm>

#include "primitives/gpu/first_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

// Few blocks leave a GPU idle; short ones compute the planes again that their neighbours share with them.
constexpr Index enough_blocks = 1024;
constexpr Index min_planes = 16;

Index planes_of_block(const FirstPoolArg& arg) {
  const Index places = window_places(arg).z;
  const Index pieces =
      std::clamp<Index>(ceil_div(enough_blocks, first_pool_blocks(arg)), 1, std::max<Index>(1, places / min_planes));
  return ceil_div(places, pieces);
}

}  // namespace

FirstPoolArg first_pool_arg(const ConvPoolProblem& both, const TensorView& in, const TensorView& out) {
  const PoolProblem& pool = both.pool;
  FirstPoolArg arg;
  arg.conv = first_conv(both.conv, in);
  arg.S = pool.in.S;
  arg.n = extent_of(pool.in.n);
  arg.window = extent_of(pool.window);
  arg.stride = extent_of(pool.stride);
  arg.offsets = extent_of(pooled_offsets(pool));
  arg.before = extent_of(pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.fragments);
  arg.out_n = extent_of(out.shape.n);
  arg.out = steps_of(out.strides);
  arg.planes = window_places(arg).z;
  arg.planes = planes_of_block(arg);
  return arg;
}

double first_pool_voxels(const FirstPoolArg& arg) {
  const Extent tiles = first_pool_tiles(arg);
  const auto columns = static_cast<double>(arg.S * tiles.y * tiles.x * first_pool_y * first_pool_x);
  return columns * static_cast<double>(window_places(arg).z + tiles.z * (arg.window.z - 1));
}

}  // namespace znni::cuda
