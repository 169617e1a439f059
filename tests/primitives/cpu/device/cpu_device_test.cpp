#include "primitives/cpu/device/cpu_device.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// Returns the memory policy of the page at `address`, and its nodes below 64; -1 if the system does not tell.
std::pair<int, std::uint64_t> policy_at(const std::byte* address) {
  int mode = -1;
  std::uint64_t nodes[16] = {};
  if (syscall(SYS_get_mempolicy, &mode, nodes, 1024, address, MPOL_F_ADDR) != 0) return {-1, 0};
  return {mode, nodes[0]};
}

TEST(CpuDevice, MemoryOfASocketLiesOnItsNode) {
  DeviceSpec spec;
  spec.threads = 1;
  Topology socket = read_topology().value();
  const int node = socket.cores.front().node;
  for (const int wanted : {-1, node}) {
    socket.memory_node = wanted;
    const auto device = make_cpu_device(spec, socket, std::int64_t{8} << 20);
    for (const std::int64_t bytes : {std::int64_t{100}, (std::int64_t{3} << 20) + 5}) {
      const Result<Reservation> block = device->reserve(MemorySpace::host, bytes, "test");
      ASSERT_TRUE(block.has_value()) << block.error().message;
      std::fill_n(block->data(), bytes, std::byte{1});
      const auto [mode, nodes] = policy_at(block->data() + bytes - 1);
      if (mode < 0) GTEST_SKIP() << "this system tells nothing of memory policies";
      if (wanted >= 0 && mode == MPOL_DEFAULT) GTEST_SKIP() << "this system takes no memory policy";
      EXPECT_EQ(mode, wanted < 0 ? MPOL_DEFAULT : MPOL_PREFERRED);
      EXPECT_EQ(nodes, wanted < 0 ? 0U : std::uint64_t{1} << node);
    }
  }
}

DeviceSpec two_sockets() {
  DeviceSpec spec;
  spec.name = "machine";
  spec.threads = 4;
  spec.sockets = 2;
  return spec;
}

// Workers are not pinned to cores that this machine does not have.
TEST(CpuDevice, SocketsHaveWorkersOfTheirOwnAndOneBudget) {
  const Topology machine = synthetic_topology("package:2 [numa(memory=1073741824)] core:2 pu:1").value();
  const auto device = make_cpu_device(two_sockets(), machine, 1 << 20);
  EXPECT_EQ(device->executor().workers(), 4);
  {
    const Result<Reservation> whole = device->reserve(MemorySpace::host, 1 << 18, "whole");
    const Result<Reservation> first = device->socket(0).reserve(MemorySpace::host, 1 << 18, "first");
    const Result<Reservation> second = device->socket(1).reserve(MemorySpace::host, 1 << 18, "second");
    ASSERT_TRUE(whole && first && second);
    EXPECT_NE(&device->socket(0), &device->socket(1));
    EXPECT_EQ(device->reserved(MemorySpace::host), 3 << 18);
    EXPECT_EQ(device->socket(1).reserved(MemorySpace::host), 3 << 18);
    EXPECT_EQ(device->socket(0).reserve(MemorySpace::host, (1 << 18) + 1, "more").error().code, ErrorCode::over_budget);
  }
  EXPECT_EQ(device->reserved(MemorySpace::host), 0);
  for (int number = 0; number < 2; ++number) {
    Device& socket = device->socket(number);
    EXPECT_EQ(socket.spec().name, "machine, one of 2 sockets");
    EXPECT_EQ(socket.spec().threads, 2);
    EXPECT_EQ(socket.executor().workers(), 2);
  }
}

TEST(CpuDevice, OfOneSocketIsItsOwn) {
  const auto device = device_of(0);
  EXPECT_EQ(&device->socket(0), device.get());
  EXPECT_EQ(&device->drivers(), &device->executor());
}

// One socket has all cores of this machine, the other all but the first.
TEST(CpuDevice, ThreadsThatADriverStartsStayNearItsSocket) {
  const std::vector<Core> cores = read_topology().value().cores;
  Topology machine;
  for (const Core& core : cores) {
    machine.cores.push_back({core.os_index, 0, 0});
    if (core != cores.front() || cores.size() == 1) machine.cores.push_back({core.os_index, 0, 1});
  }
  const auto count = static_cast<int>(cores.size());
  const auto device = make_cpu_device(two_sockets(), machine, 0);
  ASSERT_EQ(device->drivers().workers(), 2);
  std::array<int, 2> near{};
  device->drivers().on_every_worker([&](std::int64_t number, int) {
    std::thread([&near, number] {
      cpu_set_t now;
      if (sched_getaffinity(0, sizeof(now), &now) == 0) near[static_cast<std::size_t>(number)] = CPU_COUNT(&now);
    }).join();
  });
  EXPECT_EQ(near[0], count);
  EXPECT_EQ(near[1], std::max(1, count - 1));
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
