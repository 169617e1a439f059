#include "primitives/cpu/cpu_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "primitives/core/shape.hpp"

namespace znni::cpu {
namespace {

std::unique_ptr<Device> device_of(std::int64_t budget, int threads = 1) {
  DeviceSpec spec;
  spec.name = "test";
  spec.threads = threads;
  return make_cpu_device(spec, {}, budget);
}

TEST(CpuDevice, MemoryIsAlignedZeroedAndCounted) {
  const auto device = device_of(1 << 20);
  const Result<Reservation> block = device->reserve(MemorySpace::host, 1000, "test");
  ASSERT_TRUE(block.has_value()) << block.error().message;
  EXPECT_EQ(block->bytes(), 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % buffer_alignment, 0U);
  EXPECT_TRUE(std::all_of(block->data(), block->data() + 1000, [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_EQ(device->reserved(MemorySpace::host), 1024);
}

TEST(CpuDevice, LargeBlocksStartOnAHugePage) {
  const auto device = device_of(std::int64_t{64} << 20);
  const std::int64_t bytes = (std::int64_t{5} << 20) + 3;
  const Result<Reservation> block = device->reserve(MemorySpace::host, bytes, "test");
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % (std::uintptr_t{2} << 20), 0U);
  std::fill_n(block->data(), bytes, std::byte{1});
}

TEST(CpuDevice, RefusesPastTheBudgetWithBothNumbers) {
  const auto device = device_of(4096);
  const Result<Reservation> first = device->reserve(MemorySpace::host, 3072, "first");
  ASSERT_TRUE(first.has_value());
  const Result<Reservation> second = device->reserve(MemorySpace::host, 2048, "spectra of conv2");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::over_budget);
  EXPECT_EQ(second.error().message,
            "spectra of conv2 needs 2.00 KiB, but of the budget of 4.00 KiB only 1.00 KiB is free");
  EXPECT_EQ(device->reserved(MemorySpace::host), 3072);
}

TEST(CpuDevice, RefusesSizesThatDoNotFitAnInteger) {
  const auto device = device_of(1 << 20);
  EXPECT_FALSE(device->reserve(MemorySpace::host, saturated, "test").has_value());
  EXPECT_FALSE(device->reserve(MemorySpace::host, saturated - 70, "test").has_value());
  EXPECT_EQ(device->reserved(MemorySpace::host), 0);
}

TEST(CpuDevice, TheWholeBudgetCanBeUsedAgainAndAgain) {
  const auto device = device_of(std::int64_t{8} << 20);
  for (int i = 0; i < 50; ++i) {
    const Result<Reservation> block = device->reserve(MemorySpace::host, std::int64_t{8} << 20, "test");
    ASSERT_TRUE(block.has_value()) << block.error().message;
    EXPECT_EQ(block->data()[i], std::byte{0});
    block->data()[i] = std::byte{7};
  }
  EXPECT_EQ(device->reserved(MemorySpace::host), 0);
}

TEST(CpuDevice, ZeroBytesIsAnEmptyReservation) {
  const auto device = device_of(0);
  const Result<Reservation> block = device->reserve(MemorySpace::host, 0, "nothing");
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->bytes(), 0);
}

TEST(CpuDevice, HasHostMemoryOnly) {
  const auto device = device_of(1 << 20);
  const Result<Reservation> block = device->reserve(MemorySpace::pinned, 64, "staging");
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, ErrorCode::unsupported);
}

TEST(CpuDevice, AccountsForThreadsThatReserveTogether) {
  const auto device = device_of(64 * 100);
  std::array<std::vector<Reservation>, 2> kept;
  const auto grab = [&](std::vector<Reservation>& mine) {
    for (int i = 0; i < 1000; ++i) {
      Result<Reservation> block = device->reserve(MemorySpace::host, 64, "test");
      if (block) mine.push_back(std::move(*block));
    }
  };
  std::thread other(grab, std::ref(kept[1]));
  grab(kept[0]);
  other.join();
  EXPECT_EQ(kept[0].size() + kept[1].size(), 100U);
  EXPECT_EQ(device->reserved(MemorySpace::host), 6400);
  kept = {};
  EXPECT_EQ(device->reserved(MemorySpace::host), 0);
}

TEST(CpuDevice, RunsItsWorkers) {
  const auto device = device_of(0, 3);
  std::atomic<std::int64_t> sum{0};
  device->executor().parallel_for(100, [&](std::int64_t index, int) { sum += index; });
  EXPECT_EQ(sum, 4950);
  EXPECT_EQ(device->spec().name, "test");
}

}  // namespace
}  // namespace znni::cpu
