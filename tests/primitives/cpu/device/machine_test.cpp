#include "primitives/cpu/device/machine.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni::cpu {
namespace {

TEST(CgroupLimits, NothingIsLimitedWhereThereAreNoGroups) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(read_cgroup_limits(root.path()), CgroupLimits{});
}

TEST(CgroupLimits, Version2TakesTheSmallestOfAllParents) {
  const test::TemporaryDirectory root;
  root.write("proc/self/cgroup", "0::/pod/job\n");
  root.write("sys/fs/cgroup/pod/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/pod/memory.max", "8000000\n");
  root.write("sys/fs/cgroup/memory.max", "9000000\n");
  root.write("sys/fs/cgroup/pod/job/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  EXPECT_EQ(read_cgroup_limits(root.path()), (CgroupLimits{8000000, 1.5}));
}

TEST(CgroupLimits, Version1ReadsEachControllersOwnMount) {
  const test::TemporaryDirectory root;
  root.write("proc/self/cgroup", "5:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n");
  root.write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "123456\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cgroup_limits(root.path()), (CgroupLimits{123456, 0.5}));
}

// Inside a container the path names a group of the host; the mount point itself is the container's group.
TEST(CgroupLimits, FallsBackToTheMountPoint) {
  const test::TemporaryDirectory root;
  root.write("proc/self/cgroup", "5:memory:/docker/not-visible-here\n3:cpu,cpuacct:/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "777777\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cgroup_limits(root.path()), (CgroupLimits{777777, 3.0}));
}

TEST(CgroupLimits, AQuotaBelowZeroIsNone) {
  const test::TemporaryDirectory root;
  root.write("proc/self/cgroup", "1:cpu:/\njunk\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cgroup_limits(root.path()), CgroupLimits{});
}

TEST(MemoryAvailable, ReadsMemAvailable) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(memory_available(root.path()), 0);
  root.write("proc/meminfo", "MemTotal:       100 kB\nMemFree:  5 kB\nMemAvailable:    50 kB\n");
  EXPECT_EQ(memory_available(root.path()), 50 * 1024);
}

TEST(MemoryLimit, IsTheMachinesOrItsGroups) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(memory_limit(root.path()), 0);
  root.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
  EXPECT_EQ(memory_limit(root.path()), 1024000);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "2000000\n");
  EXPECT_EQ(memory_limit(root.path()), 1024000);
  root.write("sys/fs/cgroup/memory.max", "700000\n");
  EXPECT_EQ(memory_limit(root.path()), 700000);
}

TEST(MemoryLimit, OfVersionOneCounts) {
  const test::TemporaryDirectory root;
  root.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
  root.write("proc/self/cgroup", "9:memory:/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");
  EXPECT_EQ(memory_limit(root.path()), 300000);
  EXPECT_EQ(default_memory_budget(root.path()), 240000);
}

TEST(MemoryFree, IsWhatTheGroupsDoNotUse) {
  const test::TemporaryDirectory root;
  EXPECT_EQ(memory_free(root.path()), 0);
  root.write("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 1000 kB\n");
  EXPECT_EQ(memory_free(root.path()), 1024000);
  root.write("proc/self/cgroup", "0::/pod/job\n");
  root.write("sys/fs/cgroup/pod/memory.max", "900000\n");
  EXPECT_EQ(memory_free(root.path()), 900000);
  root.write("sys/fs/cgroup/pod/memory.current", "500000\n");
  EXPECT_EQ(memory_free(root.path()), 400000);
  root.write("sys/fs/cgroup/pod/memory.stat", "anon 300000\nactive_file 7\ninactive_file 100000\n");
  EXPECT_EQ(memory_free(root.path()), 500000);
  root.write("sys/fs/cgroup/pod/job/memory.max", "600000\n");
  root.write("sys/fs/cgroup/pod/job/memory.current", "400000\n");
  EXPECT_EQ(memory_free(root.path()), 200000);
  root.write("sys/fs/cgroup/pod/job/memory.current", "700000\n");
  EXPECT_EQ(memory_free(root.path()), 0);
  EXPECT_EQ(read_cgroup_limits(root.path()).memory_bytes, 600000);
}

TEST(MemoryFree, OfVersionOneCounts) {
  const test::TemporaryDirectory root;
  root.write("proc/meminfo", "MemAvailable: 1000 kB\n");
  root.write("proc/self/cgroup", "9:memory:/\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
  EXPECT_EQ(memory_free(root.path()), 150000);
}

TEST(DefaultMemoryBudget, IsFourFifthsOfTheSmallerNumber) {
  const test::TemporaryDirectory root;
  root.write("proc/meminfo", "MemAvailable: 1000 kB\n");
  EXPECT_EQ(default_memory_budget(root.path()), 819200);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "500000\n");
  EXPECT_EQ(default_memory_budget(root.path()), 400000);
}

TEST(DefaultThreads, NeverMoreThanTheQuotaNorFewerThanOne) {
  const test::TemporaryDirectory root;
  const int all = default_threads(root.path());
  EXPECT_GE(all, 1);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cpu.max", "10000 100000\n");
  EXPECT_EQ(default_threads(root.path()), 1);
  root.write("sys/fs/cgroup/cpu.max", "100000000 100000\n");
  EXPECT_EQ(default_threads(root.path()), all);
}

TEST(ThisMachine, HasMemoryAndThreads) {
  EXPECT_GT(memory_available(), 0);
  EXPECT_GT(default_memory_budget(), 0);
  EXPECT_LE(default_memory_budget(), memory_limit());  // what is available may change at any time
  EXPECT_GE(default_threads(), 1);
}

}  // namespace
}  // namespace znni::cpu
