// Launches and barriers of the emulation, whichever way it runs the threads of a block.
#include "tests/cuda_emulation/launch.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "primitives/cuda/kernels/launch.hpp"
#include "tests/cuda_emulation/device_array.hpp"
#include "tests/cuda_emulation/include/cuda_runtime.h"
#include "tests/cuda_emulation/warp.hpp"

namespace znni::cuda_emulation {
namespace {

using cuda::launch_kernel;

__global__ void count_visits(int* visits) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  ++visits[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

TEST(EmulatedLaunch, RunsEveryThreadOfEveryBlockOnce) {
  const DeviceArray<int> visits(std::vector<int>(24 * 24, 0));
  ASSERT_EQ(launch_kernel(count_visits, dim3(2, 3, 4), dim3(4, 3, 2), nullptr, visits.data()), cudaSuccess);
  EXPECT_EQ(visits.values(), std::vector<int>(24 * 24, 1));
}

// Rotates the values within each block, one block after the other: no block may see the values of another.
__global__ void rotate(const int* in, int* out) {
  __shared__ int values[64];
  const unsigned begin = blockIdx.x * blockDim.x;
  for (unsigned round = 0; round < 3; ++round) {
    values[threadIdx.x] = in[begin + threadIdx.x] + static_cast<int>(round);
    __syncthreads();
    out[begin + threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
}

TEST(EmulatedLaunch, BarriersOrderWhatABlockShares) {
  std::vector<int> in(4 * 64);
  std::iota(in.begin(), in.end(), 0);
  const DeviceArray<int> from(in);
  for (int run = 0; run < 2; ++run) {  // forwards and backwards
    const DeviceArray<int> to(in.size());
    ASSERT_EQ(launch_kernel(rotate, 4, 64, nullptr, from.data(), to.data()), cudaSuccess);
    const std::vector<int> out = to.values();
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], in[i / 64 * 64 + (i + 1) % 64] + 2) << i;
  }
}

__global__ void note_the_last_block(unsigned* last) {
  if (threadIdx.x == 0) *last = blockIdx.x;
}

TEST(EmulatedLaunch, EverySecondOneRunsBackwards) {
  const DeviceArray<unsigned> last(1);
  unsigned sum = 0;
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(launch_kernel(note_the_last_block, 5, 2, nullptr, last.data()), cudaSuccess);
    sum += last.values()[0];
  }
  EXPECT_EQ(sum, 4U) << "4 forwards, 0 backwards";
}

__global__ void end_early(unsigned thread) {
  if (threadIdx.x == thread) return;
  __syncthreads();
}

__global__ void part_ways(unsigned thread) {
  if (threadIdx.x == thread) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(EmulatedLaunch, ThreadsThatDoNotMeetAreAFailure) {
  for (const unsigned thread : {0U, 17U, 31U}) {
    EXPECT_EQ(launch_kernel(end_early, 2, 32, nullptr, thread), cudaErrorLaunchFailure) << thread;
    EXPECT_EQ(launch_kernel(part_ways, 2, 32, nullptr, thread), cudaErrorLaunchFailure) << thread;
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(launch_kernel(end_early, 2, 32, nullptr, 32U), cudaSuccess) << "the next launch runs";
  }
}

int sum_over_warp(int value, const std::source_location& at = std::source_location::current()) {
  const auto add_up = [](const Brought& brought) {
    int sum = 0;
    for (void* one : brought) sum += *static_cast<int*>(one);
    for (void* one : brought) *static_cast<int*>(one) = sum;
  };
  meet_in_warp(&value, add_up, at);
  return value;
}

// Warps meet as often as they have their number, then the block at a barrier.
__global__ void add_up_in_warps(int* out) {
  __shared__ int sums[128];
  const int thread = static_cast<int>(threadIdx.x);
  int value = thread;
  for (int round = 0; round < thread / 32; ++round) value = sum_over_warp(value) / 32;
  sums[thread] = value;
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = sums[127 - thread];
}

TEST(EmulatedLaunch, WarpsMeetEachByItself) {
  const DeviceArray<int> out(3 * 128);
  for (int run = 0; run < 2; ++run) {  // forwards and backwards
    ASSERT_EQ(launch_kernel(add_up_in_warps, 3, 128, nullptr, out.data()), cudaSuccess);
    const std::vector<int> found = out.values();
    for (int i = 0; i < 3 * 128; ++i) {
      const int thread = 127 - i % 128;
      EXPECT_EQ(found[static_cast<std::size_t>(i)], thread < 32 ? thread : (thread / 32 * 64 + 31) / 2) << i;
    }
  }
}

// One lane ends, waits for its block, or meets elsewhere.
__global__ void leave_the_warp(int how) {
  if (threadIdx.x == 37 && how == 0) return;
  if (threadIdx.x == 37 && how == 1) __syncthreads();
  if (threadIdx.x == 37 && how == 2) static_cast<void>(sum_over_warp(1));
  static_cast<void>(sum_over_warp(1));
}

TEST(EmulatedLaunch, WarpsThatDoNotMeetAreAFailure) {
  for (const int how : {0, 1, 2}) {
    EXPECT_EQ(launch_kernel(leave_the_warp, 2, 64, nullptr, how), cudaErrorLaunchFailure) << how;
    EXPECT_EQ(launch_kernel(leave_the_warp, 2, 64, nullptr, 3), cudaSuccess) << "the next launch runs";
  }
  EXPECT_EQ(launch_kernel(leave_the_warp, 2, 48, nullptr, 3), cudaErrorLaunchFailure) << "half a warp";
  static_cast<void>(cudaGetLastError());
}

__global__ void note_shared_memory(int count, unsigned* seen) {
  auto* const shared = static_cast<unsigned*>(launched_shared_memory());
  for (int i = 0; i < count; ++i) seen[i] = shared[i];
}

TEST(EmulatedLaunch, SharedMemoryIsAsLargeAsALaunchSays) {
  using cuda::launch_kernel_sharing;
  constexpr int count = 50 << 8;  // 50 KiB
  const DeviceArray<unsigned> seen(count);
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = dim3(1);
  config.dynamicSmemBytes = 4 * count;
  EXPECT_EQ(cudaLaunchKernelEx(&config, note_shared_memory, count, seen.data()), cudaErrorInvalidValue)
      << "more than 48 KiB without leave";
  ASSERT_EQ(launch_kernel_sharing(4 * count, note_shared_memory, 1, 1, nullptr, count, seen.data()), cudaSuccess);
  EXPECT_EQ(seen.values(), std::vector<unsigned>(count, 0xffffffffU));
  EXPECT_EQ(launch_kernel_sharing(228 << 10, note_shared_memory, 1, 1, nullptr, 0, seen.data()), cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
}

TEST(EmulatedLaunch, GridsThatNoGpuTakesAreRefused) {
  for (const auto& [grid, block] : {std::pair<dim3, dim3>{0, 32},
                                    {1, 0},
                                    {1, 1025},
                                    {1, dim3(32, 33)},
                                    {dim3(1, 65536), 1},
                                    {dim3(1, 1, 65536), 1},
                                    {1, dim3(1, 1, 65)}}) {
    EXPECT_EQ(launch_kernel(end_early, grid, block, nullptr, 0U), cudaErrorInvalidConfiguration);
  }
}

TEST(EmulatedLaunch, PointersMustBeOfTheDeviceAndAligned) {
  unsigned of_the_host = 0;
  EXPECT_EQ(launch_kernel(note_the_last_block, 1, 1, nullptr, &of_the_host), cudaErrorIllegalAddress);
  const DeviceArray<unsigned> last(2);
  auto* const between = reinterpret_cast<unsigned*>(reinterpret_cast<std::byte*>(last.data()) + 2);
  EXPECT_EQ(launch_kernel(note_the_last_block, 1, 1, nullptr, between), cudaErrorMisalignedAddress);
  static_cast<void>(cudaGetLastError());
}

}  // namespace
}  // namespace znni::cuda_emulation
