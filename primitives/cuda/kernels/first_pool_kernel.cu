#include "primitives/cuda/kernels/first_pool_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T, int window_z>
__global__ void __launch_bounds__(first_pool_threads)
    first_pool(const FirstPoolArg arg, const float* __restrict__ in, const Lanes<float, 4>* __restrict__ weights,
               const float* __restrict__ bias, T* __restrict__ out) {
  __shared__ float shared[first_pool_floats];
  const int thread = static_cast<int>(threadIdx.x);
  const FirstPoolBlock block = first_pool_block(arg, blockIdx.x);
  FirstPoolThread<window_z> own = first_pool_thread<window_z>(arg, block, thread);
  for (Index plane = 0; plane < block.planes; ++plane) {
    first_pool_convolve<DeviceMath>(arg, block, thread, plane, in, weights, bias, shared);
    __syncthreads();
    first_pool_reduce(arg, block, thread, plane, shared, own, out);
    __syncthreads();  // the next plane takes the place of this one
  }
}

template <class T>
cudaError_t launch(const FirstPoolArg& arg, const float* in, const float* weights, const float* bias, void* out,
                   cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(first_pool_blocks(arg));
  const auto* const vectors = reinterpret_cast<const Lanes<float, 4>*>(weights);
  auto* const to = static_cast<T*>(out);
  switch (arg.window.z) {
    case 1: return launch_kernel(first_pool<T, 1>, blocks, first_pool_threads, stream, arg, in, vectors, bias, to);
    case 2: return launch_kernel(first_pool<T, 2>, blocks, first_pool_threads, stream, arg, in, vectors, bias, to);
    case 3: return launch_kernel(first_pool<T, 3>, blocks, first_pool_threads, stream, arg, in, vectors, bias, to);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t launch_first_pool(const FirstPoolArg& arg, Storage out_type, const float* in, const float* weights,
                              const float* bias, void* out, cudaStream_t stream) {
  const Index blocks = first_pool_blocks(arg);
  if (blocks < 1 || blocks > max_first_pool_blocks) return cudaErrorInvalidValue;
  switch (out_type) {
    case Storage::f32: return launch<float>(arg, in, weights, bias, out, stream);
    case Storage::f16: return launch<Half>(arg, in, weights, bias, out, stream);
    case Storage::bf16: return launch<Bfloat>(arg, in, weights, bias, out, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
