#include "primitives/cuda/kernels/fft32_kernel.hpp"

#include "primitives/cuda/kernels/device_math.hpp"
#include "primitives/cuda/kernels/launch.hpp"
#include "primitives/gpu/fft32_element.hpp"

namespace znni::cuda {
namespace {

// Transforms along x and y the plane whose real rows lie in shared memory.
__device__ void transform_plane(const Plane& plane, float* shared, Index columns, Complex* out) {
  const int thread = static_cast<int>(threadIdx.x);
  auto* const spectra = reinterpret_cast<Complex*>(shared);
  Points32 rows;
  __syncthreads();
  if (has_row_pair(thread)) rows = read_row_pair(thread, shared);
  __syncthreads();  // the spectra take the place of the rows
  if (has_row_pair(thread)) transform_row_pair(thread, rows, spectra);
  __syncthreads();
  if (has_column_of_plane(plane, thread)) transform_plane_column(plane, thread, spectra, columns, out);
}

__global__ void __launch_bounds__(plane_threads)
    planes(const TileArg arg, Index columns, const float* __restrict__ tensor, Complex* __restrict__ out) {
  __shared__ __align__(16) float shared[plane_shared_bytes / 4];
  const Plane plane = plane_at(arg, TileEnd(), blockIdx.x);
  read_plane(arg, plane, static_cast<int>(threadIdx.x), tensor, shared);
  transform_plane(plane, shared, columns, out);
}

__global__ void __launch_bounds__(plane_threads)
    kernel_planes(const TileArg as_tiles, const KernelTileArg arg, const float* __restrict__ kernels,
                  Complex* __restrict__ out) {
  __shared__ __align__(16) float shared[plane_shared_bytes / 4];
  const Plane plane = plane_at(as_tiles, TileEnd(), blockIdx.x);
  read_kernel_plane(arg, plane, static_cast<int>(threadIdx.x), kernels, shared);
  transform_plane(plane, shared, arg.pairs, out);
}

template <int sign>
__global__ void depth(Index columns, int planes_written, Complex* spectra) {
  const Index index = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < plane_frequencies * columns) transform_depth<sign>(index, columns, planes_written, spectra);
}

__global__ void __launch_bounds__(plane_threads)
    planes_back(const TileArg arg, const TileEnd end, Index columns, const Complex* __restrict__ in, float* tensor) {
  __shared__ __align__(16) float shared[plane_shared_bytes / 4];
  const int thread = static_cast<int>(threadIdx.x);
  auto* const spectra = reinterpret_cast<Complex*>(shared);
  const Plane plane = plane_at(arg, end, blockIdx.x);
  if (plane.rows == 0) return;  // the whole block: beyond the tensor
  if (has_column_of_plane(plane, thread)) {
    transform_plane_column_back(plane, thread, in, columns, static_cast<int>(arg.row_extent.y), spectra);
  }
  __syncthreads();
  Points32 rows;
  if (has_row_pair(thread)) rows = transform_row_pair_back(thread, static_cast<int>(arg.row_extent.y), spectra);
  __syncthreads();  // the rows take the place of the spectra
  if (has_row_pair(thread)) write_row_pair(thread, rows, shared);
  __syncthreads();
  write_plane<DeviceMath>(arg, end, plane, thread, shared, tensor);
}

template <int sign>
cudaError_t launch_depth(Index columns, int planes_written, float2* spectra, cudaStream_t stream) {
  constexpr int threads = 128;
  const Index blocks = ceil_div(plane_frequencies * columns, threads);
  return launch_kernel(depth<sign>, static_cast<unsigned>(blocks), threads, stream, columns, planes_written,
                       reinterpret_cast<Complex*>(spectra));
}

bool too_many(Index blocks) { return blocks < 1 || blocks > (Index{1} << 31) - 1; }

}  // namespace

cudaError_t launch_fft32(const TileArg& arg, Index tiles, const float* tensor, float2* spectra, cudaStream_t stream) {
  const Index blocks = plane_count(arg, tiles);
  if (too_many(blocks)) return cudaErrorInvalidValue;
  const cudaError_t launched = launch_kernel(planes, static_cast<unsigned>(blocks), plane_threads, stream, arg,
                                             tiles * arg.channels, tensor, reinterpret_cast<Complex*>(spectra));
  if (launched != cudaSuccess) return launched;
  return launch_depth<-1>(tiles * arg.channels, fft32_points, spectra, stream);
}

cudaError_t launch_fft32_kernels(const KernelTileArg& arg, const float* kernels, float2* spectra, cudaStream_t stream) {
  TileArg as_tiles;  // all pairs as channels of one tile that lies in no tensor
  as_tiles.channels = arg.pairs;
  as_tiles.row_extent = arg.tile;
  const Index blocks = plane_count(as_tiles, 1);
  if (too_many(blocks)) return cudaErrorInvalidValue;
  const cudaError_t launched = launch_kernel(kernel_planes, static_cast<unsigned>(blocks), plane_threads, stream,
                                             as_tiles, arg, kernels, reinterpret_cast<Complex*>(spectra));
  if (launched != cudaSuccess) return launched;
  return launch_depth<-1>(arg.pairs, fft32_points, spectra, stream);
}

cudaError_t launch_fft32_back(const TileArg& arg, const TileEnd& end, Index tiles, float2* spectra, float* tensor,
                              cudaStream_t stream) {
  const Index blocks = plane_count(arg, tiles);
  if (too_many(blocks)) return cudaErrorInvalidValue;
  const cudaError_t launched =
      launch_depth<1>(tiles * arg.channels, static_cast<int>(arg.row_extent.z), spectra, stream);
  if (launched != cudaSuccess) return launched;
  return launch_kernel(planes_back, static_cast<unsigned>(blocks), plane_threads, stream, arg, end,
                       tiles * arg.channels, reinterpret_cast<const Complex*>(spectra), tensor);
}

}  // namespace znni::cuda
