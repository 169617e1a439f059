#include "primitives/cuda/kernels/moments_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

// Joins what the threads have whose numbers differ by multiples of `lanes`, a power of two: those below it end with it.
__device__ void join_threads(Joining joining, int lanes, Moments* shared) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // what all have is there
  for (int half = moments_threads / 2; half >= lanes; half /= 2) {
    if (thread < half) shared[thread] = joined(joining, shared[thread], shared[thread + half]);
    __syncthreads();  // the next half is complete
  }
}

template <class T>
__global__ void __launch_bounds__(moments_threads)
    moments(const MomentsArg arg, const T* __restrict__ in, Moments* __restrict__ parts) {
  __shared__ Moments shared[moments_threads];
  const int thread = static_cast<int>(threadIdx.x);
  const MomentsBlock block = moments_block(arg, blockIdx.x);
  shared[thread] = moments_of_thread(arg, block, thread, in);
  join_threads(arg.joining, arg.lanes, shared);
  if (thread < arg.lanes && block.channel + thread < arg.channels) {
    parts[moments_place(arg, block, thread)] = shared[thread];
  }
}

__global__ void __launch_bounds__(moments_threads)
    groups(const GroupsArg arg, const Moments* __restrict__ parts, ChannelFactors* __restrict__ factors) {
  __shared__ Moments shared[moments_threads];
  const int thread = static_cast<int>(threadIdx.x);
  const Index of_group = arg.channels / arg.groups;
  const Index group = blockIdx.x;
  shared[thread] = moments_of_group(arg, group, thread, parts);
  join_threads(arg.joining, 1, shared);
  for (Index i = thread; i < of_group; i += moments_threads) {
    const Index channel = group % arg.groups * of_group + i;
    factors[group * of_group + i] = factors_of<DeviceMath>(arg, channel, shared[0]);
  }
}

template <class T, int width>
__global__ void apply_factors(const FactorsArg arg) {
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      factors_element<DeviceMath, T, width>(arg, row, element);
    }
  }
}

template <class T>
cudaError_t launch(const MomentsArg& arg, const void* in, Moments* parts, cudaStream_t stream) {
  const Index blocks = moments_blocks(arg);
  if (blocks < 1 || blocks > max_moments_blocks) return cudaErrorInvalidValue;
  return launch_kernel(moments<T>, static_cast<unsigned>(blocks), moments_threads, stream, arg,
                       static_cast<const T*>(in), parts);
}

template <class T, int width>
cudaError_t launch(const FactorsArg& arg, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(apply_factors<T, width>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y),
                       stream, arg);
}

}  // namespace

cudaError_t launch_moments(const MomentsArg& arg, Storage storage, const void* in, Moments* parts,
                           cudaStream_t stream) {
  switch (storage) {
    case Storage::f32: return launch<float>(arg, in, parts, stream);
    case Storage::f16: return launch<Half>(arg, in, parts, stream);
    case Storage::bf16: return launch<Bfloat>(arg, in, parts, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

cudaError_t launch_groups(const GroupsArg& arg, const Moments* parts, ChannelFactors* factors, cudaStream_t stream) {
  const Index blocks = arg.S * arg.groups;
  if (blocks < 1 || blocks > max_moments_blocks) return cudaErrorInvalidValue;
  return launch_kernel(groups, static_cast<unsigned>(blocks), moments_threads, stream, arg, parts, factors);
}

cudaError_t launch_factors(const FactorsArg& arg, Storage storage, cudaStream_t stream) {
  switch (storage) {
    case Storage::f32:
      if (arg.width == 4) return launch<float, 4>(arg, stream);
      if (arg.width == 1) return launch<float, 1>(arg, stream);
      break;
    case Storage::f16:
      if (arg.width == 8) return launch<Half, 8>(arg, stream);
      if (arg.width == 1) return launch<Half, 1>(arg, stream);
      break;
    case Storage::bf16:
      if (arg.width == 8) return launch<Bfloat, 8>(arg, stream);
      if (arg.width == 1) return launch<Bfloat, 1>(arg, stream);
      break;
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
