#include "primitives/cuda/kernels/elementwise_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T, int width>
__global__ void elementwise(const ElementwiseArg arg) {
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      elementwise_element<DeviceMath, T, width>(arg, row, element);
    }
  }
}

template <class T, int width>
cudaError_t launch(const ElementwiseArg& arg, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(elementwise<T, width>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream,
                       arg);
}

template <class T, int width>
__global__ void multiply(const MultiplyArg arg) {
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      multiply_element<T, width>(arg, row, element);
    }
  }
}

template <class T, int width>
cudaError_t launch(const MultiplyArg& arg, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(multiply<T, width>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream,
                       arg);
}

// Launches in vectors of 16 bytes' worth, or of one element.
template <class Arg>
cudaError_t launch_in_vectors(const Arg& arg, Storage storage, cudaStream_t stream) {
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

}  // namespace

cudaError_t launch_elementwise(const ElementwiseArg& arg, Storage storage, cudaStream_t stream) {
  return launch_in_vectors(arg, storage, stream);
}

cudaError_t launch_multiply(const MultiplyArg& arg, Storage storage, cudaStream_t stream) {
  return launch_in_vectors(arg, storage, stream);
}

}  // namespace znni::cuda
