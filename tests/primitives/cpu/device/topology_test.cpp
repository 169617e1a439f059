#include "primitives/cpu/device/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <thread>

namespace znni::cpu {
namespace {

std::vector<int> os_indices(const std::vector<Core>& cores) {
  std::vector<int> indices;
  for (const Core& core : cores) indices.push_back(core.os_index);
  return indices;
}

std::vector<int> chips(const std::vector<Core>& cores) {
  std::vector<int> indices;
  for (const Core& core : cores) indices.push_back(core.chip);
  return indices;
}

TEST(Topology, CoresComeBeforeTheirSiblings) {
  const Result<Topology> topology = synthetic_topology("package:2 core:2 pu:2");
  ASSERT_TRUE(topology.has_value()) << topology.error().message;
  EXPECT_EQ(os_indices(topology->cores), (std::vector{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(chips(topology->cores), (std::vector{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(Topology, AChipIsWhatSharesALastLevelCache) {
  const Result<Topology> topology = synthetic_topology("package:1 l3:2(size=33554432) l2:2(size=1048576) core:1 pu:1");
  ASSERT_TRUE(topology.has_value()) << topology.error().message;
  EXPECT_EQ(chips(topology->cores), (std::vector{0, 0, 1, 1}));
  EXPECT_EQ(topology->l3_bytes, 32 * 1024 * 1024);
  EXPECT_EQ(topology->l2_bytes, 1024 * 1024);
}

TEST(Topology, WorkersArePinnedInThatOrder) {
  const Topology topology = synthetic_topology("package:1 core:3 pu:2").value();
  EXPECT_EQ(os_indices(pin_list(topology, 3)), (std::vector{0, 2, 4}));
  EXPECT_EQ(os_indices(pin_list(topology, 4)), (std::vector{0, 2, 4, 1}));
}

TEST(Topology, MoreWorkersThanUnitsAreLeftToTheSystem) {
  const Topology topology = synthetic_topology("package:2 core:1 pu:1").value();
  EXPECT_EQ(os_indices(pin_list(topology, 3)), (std::vector{-1, -1, -1}));
  EXPECT_EQ(chips(pin_list(topology, 3)), (std::vector{0, 1, 0}));
}

TEST(Topology, UnpinnedCoresKeepTheirChips) {
  const Topology topology = unpinned(synthetic_topology("package:2 core:1 pu:1").value());
  EXPECT_EQ(os_indices(pin_list(topology, 2)), (std::vector{-1, -1}));
  EXPECT_EQ(chips(pin_list(topology, 2)), (std::vector{0, 1}));
}

TEST(Sockets, AreTheCoresOfEachMemoryNode) {
  const Topology machine = synthetic_topology("package:2 [numa(memory=1073741824)] l3:1 core:2 pu:2").value();
  const std::vector<Topology> each = sockets(machine);
  ASSERT_EQ(each.size(), 2U);
  EXPECT_EQ(os_indices(each[0].cores), (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(os_indices(each[1].cores), (std::vector{4, 6, 5, 7}));
  for (int node = 0; node < 2; ++node) {
    const Topology& socket = each[static_cast<std::size_t>(node)];
    EXPECT_EQ(socket.memory_node, node);
    EXPECT_EQ(socket.l3_bytes, machine.l3_bytes);
    for (const Core& core : socket.cores) EXPECT_EQ(core.node, node);
  }
  EXPECT_EQ(os_indices(pin_list(each[1], 2)), (std::vector{4, 6}));
}

TEST(Sockets, APackageMayHaveSeveralMemoryNodes) {
  const std::vector<Topology> each = sockets(synthetic_topology("package:2 numa:4 core:3 pu:1").value());
  ASSERT_EQ(each.size(), 8U);
  EXPECT_EQ(os_indices(each[5].cores), (std::vector{15, 16, 17}));
}

TEST(Sockets, OneMemoryNodeIsTheWholeMachineWithMemoryAnywhere) {
  const Topology machine = synthetic_topology("numa:1 package:2 core:2 pu:1").value();
  const std::vector<Topology> each = sockets(machine);
  ASSERT_EQ(each.size(), 1U);
  EXPECT_EQ(each[0].cores, machine.cores);
  EXPECT_EQ(each[0].memory_node, -1);
  EXPECT_EQ(sockets({}).size(), 1U);
}

TEST(Sockets, CountWhereWorkersFillThemEvenly) {
  const Topology machine = synthetic_topology("package:2 [numa(memory=1073741824)] core:2 pu:2").value();
  for (const int threads : {4, 8}) EXPECT_EQ(socket_count(machine, threads), 2) << threads;
  for (const int threads : {1, 2, 3, 6, 10}) EXPECT_EQ(socket_count(machine, threads), 1) << threads;
  EXPECT_EQ(socket_count(unpinned(machine), 4), 1);
  EXPECT_EQ(socket_count({}, 4), 1);
}

TEST(Topology, NothingKnownPinsNobody) { EXPECT_EQ(os_indices(pin_list({}, 2)), (std::vector{-1, -1})); }

TEST(Topology, RefusesANonsensicalDescription) {
  const Result<Topology> topology = synthetic_topology("three sheep");
  ASSERT_FALSE(topology.has_value());
  EXPECT_NE(topology.error().message.find("three sheep"), std::string::npos);
}

TEST(Topology, OfThisMachineStaysWithinTheAffinityMask) {
  const Result<Topology> topology = read_topology();
  ASSERT_TRUE(topology.has_value()) << topology.error().message;
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::set<int> seen;
  for (const Core& core : topology->cores) {
    EXPECT_TRUE(CPU_ISSET(core.os_index, &allowed)) << core.os_index;
    EXPECT_TRUE(seen.insert(core.os_index).second) << core.os_index << " appears twice";
  }
  EXPECT_EQ(static_cast<int>(seen.size()), CPU_COUNT(&allowed));
}

TEST(Topology, PinningBindsTheCallingThreadOnly) {
  const Topology topology = read_topology().value();
  const Core core = topology.cores.back();
  int bound_to = -1;
  std::thread([&] {
    const std::vector<Core> unknown{core, {-1, 0}};
    pin_this_thread(unknown);
    cpu_set_t now;
    sched_getaffinity(0, sizeof(now), &now);
    EXPECT_EQ(CPU_COUNT(&now), static_cast<int>(topology.cores.size()));
    pin_this_thread(topology.cores);
    sched_getaffinity(0, sizeof(now), &now);
    EXPECT_EQ(CPU_COUNT(&now), static_cast<int>(topology.cores.size()));
    pin_this_thread(std::span(&core, 1));
    sched_getaffinity(0, sizeof(now), &now);
    bound_to = CPU_COUNT(&now) == 1 && CPU_ISSET(core.os_index, &now) ? core.os_index : -1;
  }).join();
  EXPECT_EQ(bound_to, core.os_index);
  cpu_set_t ours;
  sched_getaffinity(0, sizeof(ours), &ours);
  EXPECT_EQ(CPU_COUNT(&ours), static_cast<int>(topology.cores.size()));
}

}  // namespace
}  // namespace znni::cpu
