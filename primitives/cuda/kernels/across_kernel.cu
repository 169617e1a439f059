#include "primitives/cuda/kernels/across_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

template <class T>
__global__ void across(const AcrossArg arg, const T* in, T* out) {
  const Index voxels = arg.S * voxels_of(arg.n);
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index index = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; index < voxels; index += step) {
    across_voxel<DeviceMath>(arg, index, in, out);
  }
}

template <class T>
cudaError_t launch(const AcrossArg& arg, const void* in, void* out, cudaStream_t stream) {
  constexpr int threads = 256;
  return launch_kernel(across<T>, blocks_for(arg.S * voxels_of(arg.n), threads), threads, stream, arg,
                       static_cast<const T*>(in), static_cast<T*>(out));
}

}  // namespace

cudaError_t launch_across(const AcrossArg& arg, Storage storage, const void* in, void* out, cudaStream_t stream) {
  switch (storage) {
    case Storage::f32: return launch<float>(arg, in, out, stream);
    case Storage::f16: return launch<Half>(arg, in, out, stream);
    case Storage::bf16: return launch<Bfloat>(arg, in, out, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
