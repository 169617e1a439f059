#include "primitives/cuda/kernels/stack_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"
#include "primitives/cuda/kernels/matrix_units.hpp"

namespace znni::cuda {
namespace {

constexpr int threads = 256;

// Takes a tile through all links. The block's two buffers take turns; returns that of the result.
template <class T>
__device__ float* reduce_tile(const StackArg& arg, const StackTile& tile, const T* in, float* from, float* to) {
  const int thread = static_cast<int>(threadIdx.x);
  StackRegion region = loaded_region(arg, tile);
  for (int i = thread; i < region_elements(tile, region.n); i += threads) load_element(arg, tile, region, i, in, from);
  __syncthreads();  // the region is loaded
  for (int index = 0; index < arg.links; ++index) {
    const StackLink& link = arg.link[index];
    for (int axis = 2; axis >= 0; --axis) {
      if (skips(link, axis)) continue;
      const int elements = region_elements(tile, reduced(region.n, link, axis));
      for (int i = thread; i < elements; i += threads) {
        reduce_element<DeviceMath>(arg, tile, link, region, axis, i, from, to);
      }
      __syncthreads();  // what is reduced is complete, and its source is read
      float* const other = from;
      from = to;
      to = other;
    }
    region = written_region(link, region);
  }
  return from;
}

template <class T>
__global__ void __launch_bounds__(threads)
    pool_stack(const StackArg arg, const T* __restrict__ in, T* __restrict__ out) {
  auto* const shared = static_cast<float*>(dynamic_shared());
  const Index tiles = stack_tiles(arg);
  for (Index index = blockIdx.x; index < tiles; index += gridDim.x) {
    const StackTile tile = stack_tile(arg, index);
    const int elements = region_elements(tile, tile.region.n);
    if (arg.buffer == 0) {
      for (int i = static_cast<int>(threadIdx.x); i < elements; i += threads) {
        direct_stack_element<DeviceMath>(arg, tile, i, in, out);
      }
      continue;
    }
    const float* const made = reduce_tile(arg, tile, in, shared, shared + arg.buffer);
    for (int i = static_cast<int>(threadIdx.x); i < elements; i += threads) {
      store_element(arg, tile, i, made[i], out);
    }
    __syncthreads();  // the tile is stored, the next takes its place
  }
}

template <class T>
cudaError_t launch(const StackArg& arg, const void* in, void* out, cudaStream_t stream) {
  const int bytes = 2 * arg.buffer * static_cast<int>(sizeof(float));
  return launch_kernel_sharing(bytes, pool_stack<T>, blocks_for(stack_tiles(arg), 1), threads, stream, arg,
                               static_cast<const T*>(in), static_cast<T*>(out));
}

}  // namespace

cudaError_t launch_stack(const StackArg& arg, Storage storage, const void* in, void* out, cudaStream_t stream) {
  switch (storage) {
    case Storage::f32: return launch<float>(arg, in, out, stream);
    case Storage::f16: return launch<Half>(arg, in, out, stream);
    case Storage::bf16: return launch<Bfloat>(arg, in, out, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
