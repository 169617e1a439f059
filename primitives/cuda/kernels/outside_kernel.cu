#include "primitives/cuda/kernels/outside_kernel.hpp"

#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T>
__global__ void outside(const OutsideArg arg, T* data) {
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const Row row = row_at(arg.rows, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      outside_element(arg, row, element, data);
    }
  }
}

template <class T>
cudaError_t launch(const OutsideArg& arg, void* data, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(outside<T>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream, arg,
                       static_cast<T*>(data));
}

}  // namespace

cudaError_t launch_outside(const OutsideArg& arg, Storage storage, void* data, cudaStream_t stream) {
  switch (storage) {
    case Storage::f32: return launch<float>(arg, data, stream);
    case Storage::f16: return launch<Half>(arg, data, stream);
    case Storage::bf16: return launch<Bfloat>(arg, data, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
