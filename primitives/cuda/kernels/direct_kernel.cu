#include "primitives/cuda/kernels/direct_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T, int channels>
__global__ void direct(const DirectArg arg, const T* __restrict__ in, const T* __restrict__ residual,
                       const float* __restrict__ weights, const float* __restrict__ bias, T* __restrict__ out) {
  const DirectData<T> data{in, residual, weights, bias, out};
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      direct_element<DeviceMath, T, channels>(arg, row, element, data);
    }
  }
}

template <class T, int channels>
cudaError_t launch(const DirectArg& arg, const DirectData<void>& data, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(direct<T, channels>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream,
                       arg, static_cast<const T*>(data.in), static_cast<const T*>(data.residual), data.weights,
                       data.bias, static_cast<T*>(data.out));
}

template <class T>
cudaError_t launch(const DirectArg& arg, int channels, const DirectData<void>& data, cudaStream_t stream) {
  if (channels == 4) return launch<T, 4>(arg, data, stream);
  if (channels == 1) return launch<T, 1>(arg, data, stream);
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_direct(const DirectArg& arg, Storage storage, int channels, const DirectData<void>& data,
                          cudaStream_t stream) {
  switch (storage) {
    case Storage::f32: return launch<float>(arg, channels, data, stream);
    case Storage::f16: return launch<Half>(arg, channels, data, stream);
    case Storage::bf16: return launch<Bfloat>(arg, channels, data, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
