// CUDA's runtime, as far as the back end calls it: one GPU, whose streams run everything at once and in the order of
// the calls.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "tests/cuda_emulation/device_memory.hpp"
#include "tests/cuda_emulation/last_error.hpp"
#include "tests/cuda_emulation/library_handles.hpp"

namespace znni::cuda_emulation {
namespace {

constexpr std::size_t context_bytes = std::size_t{256} << 20;
constexpr std::size_t handle_bytes = std::size_t{64} << 20;
constexpr std::size_t page_bytes = 4096;

double now = 0;  // milliseconds; every recorded event takes one

double* time_of(cudaEvent_t event) { return reinterpret_cast<double*>(event); }

// Returns true if a copy goes where its kind says.
bool is_right(cudaMemcpyKind kind, const void* to, const void* from, std::size_t to_bytes, std::size_t from_bytes) {
  const bool to_device = device_memory().holds(to, to_bytes);
  const bool from_device = device_memory().holds(from, from_bytes);
  switch (kind) {
    case cudaMemcpyHostToDevice: return to_device && !from_device;
    case cudaMemcpyDeviceToHost: return !to_device && from_device;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    default: return false;
  }
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (!is_right(kind, to, from, bytes, bytes)) return fail(cudaErrorInvalidMemcpyDirection);
  const Access access;
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

}  // namespace
}  // namespace znni::cuda_emulation

namespace emulation = znni::cuda_emulation;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

// Returns a GPU of a compute capability for which the back end has no description at hand.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return emulation::fail(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "Emulated GPU");
  properties->major = 10;
  properties->multiProcessorCount = 100;
  properties->totalGlobalMem = emulation::memory_bytes;
  properties->l2CacheSize = 64 << 20;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return emulation::fail(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxPitch: *value = 2147483647; return cudaSuccess;
    case cudaDevAttrClockRate: *value = 1500000; return cudaSuccess;
    case cudaDevAttrMemoryClockRate: *value = 3000000; return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 4096; return cudaSuccess;
    default: return emulation::fail(cudaErrorInvalidValue);
  }
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : emulation::fail(cudaErrorInvalidDevice); }

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(new char);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete reinterpret_cast<char*>(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
  return event == nullptr ? emulation::fail(cudaErrorInvalidResourceHandle) : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new double(-1));
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *emulation::time_of(event) = emulation::now += 1;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  const double begin = *emulation::time_of(first);
  const double end = *emulation::time_of(second);
  if (begin < 0 || end < 0) return emulation::fail(cudaErrorInvalidResourceHandle);
  *milliseconds = static_cast<float>(end - begin);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete emulation::time_of(event);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  *block = emulation::device_memory().allocate(bytes);
  return *block == nullptr ? emulation::fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* block) {
  const bool known = block == nullptr || emulation::device_memory().release(block);
  return known ? cudaSuccess : emulation::fail(cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  *block = std::aligned_alloc(emulation::page_bytes, (bytes / emulation::page_bytes + 1) * emulation::page_bytes);
  return *block == nullptr ? emulation::fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeHost(void* block) {
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const auto handles = static_cast<std::size_t>(emulation::library_handles());
  *total = emulation::memory_bytes;
  const std::size_t taken =
      emulation::device_memory().allocated() + emulation::context_bytes + handles * emulation::handle_bytes;
  *free = taken < *total ? *total - taken : 0;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return emulation::copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return emulation::copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_step, const void* from, std::size_t from_step, std::size_t bytes,
                              std::size_t rows, cudaMemcpyKind kind, cudaStream_t) {
  if (bytes > to_step || bytes > from_step) return emulation::fail(cudaErrorInvalidPitchValue);
  for (std::size_t row = 0; row < rows; ++row) {
    const cudaError_t done = emulation::copy(static_cast<std::byte*>(to) + row * to_step,
                                             static_cast<const std::byte*>(from) + row * from_step, bytes, kind);
    if (done != cudaSuccess) return done;
  }
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t) {
  if (bytes == 0) return cudaSuccess;
  if (!emulation::device_memory().holds(block, bytes)) return emulation::fail(cudaErrorInvalidValue);
  const emulation::Access access;
  std::memset(block, value, bytes);
  return cudaSuccess;
}
