#include "primitives/cuda/kernels/upsample_kernel.hpp"

#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T, int width>
__global__ void upsample(const UpsampleArg arg, const Lanes<T, width>* __restrict__ in,
                         Lanes<T, width>* __restrict__ out) {
  const Index rows = row_count(arg.rows);
  const int elements = row_elements(arg.rows);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.y;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.y + threadIdx.y; index < rows; index += step) {
    const UpsampleRow row = upsample_row(arg, index);
    for (int element = static_cast<int>(threadIdx.x); element < elements; element += static_cast<int>(blockDim.x)) {
      upsample_element(arg, row, element, in, out);
    }
  }
}

template <class T, int width>
cudaError_t launch(const UpsampleArg& arg, const void* in, void* out, cudaStream_t stream) {
  const BlockShape block = block_for(row_elements(arg.rows));
  return launch_kernel(upsample<T, width>, blocks_for(row_count(arg.rows), block.y), dim3(block.x, block.y), stream,
                       arg, static_cast<const Lanes<T, width>*>(in), static_cast<Lanes<T, width>*>(out));
}

}  // namespace

cudaError_t launch_upsample(const UpsampleArg& arg, Storage storage, int width, const void* in, void* out,
                            cudaStream_t stream) {
  switch (storage) {
    case Storage::f32:
      if (width == 4) return launch<float, 4>(arg, in, out, stream);
      if (width == 1) return launch<float, 1>(arg, in, out, stream);
      break;
    case Storage::f16:
      if (width == 8) return launch<Half, 8>(arg, in, out, stream);
      if (width == 1) return launch<Half, 1>(arg, in, out, stream);
      break;
    case Storage::bf16:
      if (width == 8) return launch<Bfloat, 8>(arg, in, out, stream);
      if (width == 1) return launch<Bfloat, 1>(arg, in, out, stream);
      break;
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
