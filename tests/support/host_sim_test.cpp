#include "tests/support/host_sim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace znni::test {
namespace {

using testing::HasSubstr;

std::span<float> floats(const Reservation& block) {
  return {reinterpret_cast<float*>(block.data()), static_cast<std::size_t>(block.bytes()) / sizeof(float)};
}

struct Blocks {
  explicit Blocks(HostSim& gpu, std::int64_t bytes = 256)
      : pinned(std::move(gpu.reserve(MemorySpace::pinned, bytes, "pinned").value())),
        device(std::move(gpu.reserve(MemorySpace::device, bytes, "device").value())) {}
  Reservation pinned;
  Reservation device;
};

// Uploads, doubles on another stream and downloads on a third; returns whether the result is right.
bool doubles(std::uint64_t seed, bool with_waits) {
  HostSimOptions options;
  options.seed = seed;
  HostSim gpu(options);
  const Blocks blocks(gpu);
  const std::span<float> host = floats(blocks.pinned);
  std::iota(host.begin(), host.end(), 1.0F);
  Event up = gpu.make_event().value();
  Event done = gpu.make_event().value();
  const CopyRows all{blocks.device.bytes(), 1, 0, 0};
  EXPECT_TRUE(gpu.upload(Stream::upload, blocks.device.data(), blocks.pinned.data(), all));
  EXPECT_TRUE(gpu.record(Stream::upload, up));
  EXPECT_TRUE(!with_waits || gpu.wait(Stream::compute, up));
  EXPECT_TRUE(gpu.launch(Stream::compute, 1e-3, [data = floats(blocks.device)] {
    for (float& value : data) value *= 2.0F;
  }));
  EXPECT_TRUE(gpu.record(Stream::compute, done));
  EXPECT_TRUE(!with_waits || gpu.wait(Stream::download, done));
  EXPECT_TRUE(gpu.download(Stream::download, blocks.pinned.data(), blocks.device.data(), all));
  EXPECT_TRUE(gpu.synchronise());
  bool right = true;
  for (std::size_t i = 0; i < host.size(); ++i) right = right && host[i] == 2.0F * static_cast<float>(i + 1);
  return right;
}

TEST(HostSim, AMissingWaitShowsInSomeOrder) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_TRUE(doubles(seed, true)) << seed;
    wrong += doubles(seed, false) ? 0 : 1;
  }
  EXPECT_GT(wrong, 5);
}

TEST(HostSim, CountsTheLinkAndKeepsTime) {
  HostSim gpu;
  const Blocks blocks(gpu, 1 << 20);
  const CopyRows rows{1000, 10, 2000, 1000};
  ASSERT_TRUE(gpu.upload(Stream::upload, blocks.device.data(), blocks.pinned.data(), rows));
  ASSERT_TRUE(gpu.download(Stream::download, blocks.pinned.data(), blocks.device.data(), {500, 1, 0, 0}));
  EXPECT_EQ(gpu.uploads(), (LinkCount{1, 10000}));
  EXPECT_EQ(gpu.downloads(), (LinkCount{1, 500}));
  ASSERT_TRUE(gpu.synchronise());
  EXPECT_DOUBLE_EQ(gpu.clock().now(), 1e-5 + 10000 / 1e8);
}

TEST(HostSim, RefusesPastItsBudgetsNamingBothNumbers) {
  HostSimOptions options;
  options.device_budget = 4096;
  options.pinned_budget = 1024;
  HostSim gpu(options);
  const Result<Reservation> device = gpu.reserve(MemorySpace::device, 4097, "weights");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::over_budget);
  EXPECT_THAT(device.error().message, HasSubstr("weights needs 4.00 KiB of device memory"));
  EXPECT_FALSE(gpu.reserve(MemorySpace::pinned, 1025, "slots"));
  EXPECT_TRUE(gpu.reserve(MemorySpace::pinned, 1024, "slots"));
  EXPECT_TRUE(gpu.reserve(MemorySpace::device, 0, "nothing"));
  EXPECT_EQ(gpu.reserved(MemorySpace::pinned), 0);
}

TEST(HostSim, RefusesTheAllocationAsked) {
  HostSim gpu;
  gpu.fail_allocation(2);
  EXPECT_TRUE(gpu.reserve(MemorySpace::device, 64, "first"));
  const Result<Event> event = gpu.make_event();
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, ErrorCode::over_budget);
  EXPECT_TRUE(gpu.make_event());
  EXPECT_EQ(gpu.allocations(), 3);
  EXPECT_EQ(gpu.live_events(), 0);
}

TEST(HostSim, WorkThatFailsFailsTheWaitAndAllThatFollows) {
  for (const std::uint64_t seed : {0, 1}) {
    HostSimOptions options;
    options.seed = seed;
    HostSim gpu(options);
    const Blocks blocks(gpu);
    gpu.fail_work(1);
    bool ran = false;
    static_cast<void>(gpu.launch(Stream::compute, 0, [&] { ran = true; }));
    const Result<void> waited = gpu.synchronise();
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::device_failure);
    EXPECT_FALSE(ran);
    EXPECT_FALSE(gpu.launch(Stream::compute, 0, [] {}));
    EXPECT_FALSE(gpu.write(blocks.device.data(), {}));
  }
}

TEST(HostSim, OfALostGpuTheDeviceTellsAndALaunchDoesNot) {
  HostSim gpu;
  const Blocks blocks(gpu);
  gpu.fail_work(1, ErrorCode::device_lost);
  ASSERT_TRUE(gpu.fill(Stream::compute, {blocks.device.data(), 64}, std::byte{0}));
  EXPECT_EQ(gpu.synchronise().error().code, ErrorCode::device_lost);
  EXPECT_EQ(gpu.fill(Stream::compute, {blocks.device.data(), 64}, std::byte{0}).error().code, ErrorCode::device_lost);
  EXPECT_EQ(gpu.launch(Stream::compute, 0, [] {}).error().code, ErrorCode::device_failure);
}

TEST(HostSim, PoisonsDeviceMemoryInTheOrderOfItsStream) {
  HostSimOptions options;
  options.seed = 5;
  HostSim gpu(options);
  const Blocks blocks(gpu);
  const std::span<std::byte> block(blocks.device.data(), 256);
  ASSERT_TRUE(gpu.fill(Stream::compute, block, std::byte{0}));
  gpu.poison()(block.first(4), MemorySpace::device);
  std::vector<float> seen(64);
  ASSERT_TRUE(gpu.read(std::as_writable_bytes(std::span(seen)), blocks.device.data()));
  EXPECT_TRUE(std::isnan(seen[0]));
  EXPECT_EQ(seen[1], 0.0F);
  gpu.poison()({blocks.pinned.data(), 4}, MemorySpace::pinned);
  EXPECT_TRUE(std::isnan(floats(blocks.pinned)[0]));
}

TEST(HostSimDeathTest, ACopyFromPlainMemoryStopsTheProgram) {
  HostSim gpu;
  const Blocks blocks(gpu);
  const std::vector<std::byte> plain(64);
  EXPECT_DEATH(static_cast<void>(gpu.upload(Stream::upload, blocks.device.data(), plain.data(), {64, 1, 0, 0})),
               "pinned memory of the device");
}

TEST(HostSimDeathTest, ACopyBeyondItsBlockStopsTheProgram) {
  HostSim gpu;
  const Blocks blocks(gpu);
  EXPECT_DEATH(
      static_cast<void>(gpu.upload(Stream::upload, blocks.device.data(), blocks.pinned.data(), {100, 3, 100, 0})),
      "not reserved");
}

}  // namespace
}  // namespace znni::test
