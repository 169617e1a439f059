#include "primitives/cuda/kernels/reorder_kernel.hpp"

#include "primitives/cuda/kernels/launch.hpp"

namespace znni::cuda {
namespace {

constexpr int edge = 32;
constexpr int edge_rows = 8;

// Reorders one row of voxels per block at a time, in squares of `edge` voxels by `edge` channels.
template <class From, class To>
__global__ void reorder(const ReorderArg arg, const From* __restrict__ from, To* __restrict__ to) {
  __shared__ From square[edge][edge + 1];  // [channel][voxel]
  const int fast = static_cast<int>(threadIdx.x);
  for (Index index = blockIdx.x; index < reorder_rows(arg); index += gridDim.x) {
    const ReorderRow row = reorder_row(arg, index);
    for (Index channel0 = 0; channel0 < arg.channels; channel0 += edge) {
      for (Index x0 = 0; x0 < arg.n.x; x0 += edge) {
        for (int slow = static_cast<int>(threadIdx.y); slow < edge; slow += edge_rows) {
          const int channel = arg.from_planar ? slow : fast;
          const int x = arg.from_planar ? fast : slow;
          if (channel0 + channel < arg.channels && x0 + x < arg.n.x) {
            square[channel][x] = from[row.from + (channel0 + channel) * arg.from.f + (x0 + x) * arg.from.x];
          }
        }
        __syncthreads();
        for (int slow = static_cast<int>(threadIdx.y); slow < edge; slow += edge_rows) {
          const int channel = arg.to_planar ? slow : fast;
          const int x = arg.to_planar ? fast : slow;
          if (channel0 + channel < arg.channels && x0 + x < arg.n.x) {
            to[row.to + (channel0 + channel) * arg.to.f + (x0 + x) * arg.to.x] =
                converted<From, To>(square[channel][x]);
          }
        }
        __syncthreads();  // before the square is filled again
      }
    }
  }
}

template <class From, class To>
cudaError_t launch(const ReorderArg& arg, const void* from, void* to, cudaStream_t stream) {
  return launch_kernel(reorder<From, To>, blocks_for(reorder_rows(arg), 1), dim3(edge, edge_rows), stream, arg,
                       static_cast<const From*>(from), static_cast<To*>(to));
}

template <class From>
cudaError_t launch_from(const ReorderArg& arg, const void* from, Storage to_type, void* to, cudaStream_t stream) {
  switch (to_type) {
    case Storage::f32: return launch<From, float>(arg, from, to, stream);
    case Storage::f16: return launch<From, Half>(arg, from, to, stream);
    case Storage::bf16: return launch<From, Bfloat>(arg, from, to, stream);
    case Storage::u8: return launch<From, std::uint8_t>(arg, from, to, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_reorder(const ReorderArg& arg, Storage from_type, const void* from, Storage to_type, void* to,
                           cudaStream_t stream) {
  switch (from_type) {
    case Storage::f32: return launch_from<float>(arg, from, to_type, to, stream);
    case Storage::f16: return launch_from<Half>(arg, from, to_type, to, stream);
    case Storage::bf16: return launch_from<Bfloat>(arg, from, to_type, to, stream);
    case Storage::u8: break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace znni::cuda
