#include "primitives/cuda/kernels/first_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T>
__global__ void first(const FirstArg arg, const float* __restrict__ in, const Lanes<float, 4>* __restrict__ weights,
                      const float* __restrict__ bias, T* __restrict__ out) {
  const Index rows = row_count(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < arg.rows.fast;
         element += static_cast<int>(blockDim.x)) {
      first_element<DeviceMath>(arg, row, element, in, weights, bias, out);
    }
  }
}

template <class T>
cudaError_t launch(const FirstArg& arg, const float* in, const float* weights, const float* bias, void* out,
                   cudaStream_t stream) {
  const BlockShape block = block_for(arg.rows.fast);
  return launch_kernel(first<T>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream, arg, in,
                       reinterpret_cast<const Lanes<float, 4>*>(weights), bias, static_cast<T*>(out));
}

}  // namespace

cudaError_t launch_first(const FirstArg& arg, Storage out_type, const float* in, const float* weights,
                         const float* bias, void* out, cudaStream_t stream) {
  switch (out_type) {
    case Storage::f32: return launch<float>(arg, in, weights, bias, out, stream);
    case Storage::f16: return launch<Half>(arg, in, weights, bias, out, stream);
    case Storage::bf16: return launch<Bfloat>(arg, in, weights, bias, out, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
