#include "primitives/cpu/backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "primitives/cpu/device/machine.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

TEST(Backend, ListsEveryPrimitiveOnceUnderItsOwnName) {
  std::set<std::string_view> names;
  for (const Primitive* primitive : registry()) {
    EXPECT_TRUE(primitive->name.starts_with("cpu.")) << primitive->name;
    EXPECT_EQ(primitive->device, DeviceKind::cpu) << primitive->name;
    EXPECT_GE(primitive->version, 1) << primitive->name;
    EXPECT_TRUE(names.insert(primitive->name).second) << primitive->name << " is listed twice";
  }
  for (const char* name : {"cpu.conv.direct", "cpu.pool.max", "cpu.pool.mpf", "cpu.reorder"}) {
    EXPECT_TRUE(names.contains(name)) << name << " is missing";
  }
  EXPECT_EQ(backend().primitives.data(), registry().data());
}

// Draws problems of all kinds, some of them refused.
LayerProblem any_problem(test::Random& random) {
  switch (random.integer(0, 4)) {
    case 0: {
      ConvProblem conv = test::random_conv(random);
      conv.local = random.chance(0.2);
      return conv;
    }
    case 1: return test::random_strided_conv(random);
    case 2: return test::random_conv_pool(random, 10);
    case 3: return test::random_conv_pool_of_pairs(random, 10);
    default: return test::random_problem(random);
  }
}

TEST(Backend, BoundsTheTimesThatItDescribes) {
  std::set<std::string_view> bounded;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    test::Random random(seed);
    const LayerProblem problem = any_problem(random);
    for (const Primitive* primitive : registry()) {
      if (primitive->min_time == nullptr) continue;
      const Seconds bound = primitive->min_time(problem, describe_cpu(2));
      const Result<std::vector<Estimate>> estimates = primitive->describe(problem, describe_cpu(2));
      EXPECT_EQ(std::isfinite(bound), estimates.has_value()) << primitive->name << ": " << to_string(problem);
      if (!estimates) continue;
      bounded.insert(primitive->name);
      for (const Estimate& estimate : *estimates) EXPECT_LE(bound, estimate.time) << to_string(problem);
    }
  }
  EXPECT_TRUE(bounded.contains("cpu.conv.fft_tiled"));
  EXPECT_TRUE(bounded.contains("cpu.conv.first_pool"));
}

TEST(Backend, ProbesOneDeviceWithTheDefaultThreads) {
  const std::vector<DeviceSpec> specs = backend().probe();
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].threads, default_threads());
  EXPECT_EQ(specs[0], describe_cpu(default_threads()));
}

TEST(Backend, DescribesTheMachineTheSameEveryTime) {
  EXPECT_EQ(describe_cpu(3), describe_cpu(3));
  const DeviceSpec one = describe_cpu(1);
  const DeviceSpec two = describe_cpu(2);
  EXPECT_DOUBLE_EQ(two.flops_per_second, 2 * one.flops_per_second);
  EXPECT_NE(one.name, two.name);
  EXPECT_NE(one.name.find(", 1 thread, "), std::string::npos) << one.name;
  EXPECT_GT(one.l2_bytes, 0);
}

TEST(Backend, OpensADeviceWithTheGivenBudget) {
  const Result<std::unique_ptr<Device>> device = backend().open(describe_cpu(2), 12345, 6, 7);
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EXPECT_EQ((*device)->executor().workers(), 2);
  EXPECT_EQ((*device)->budget(MemorySpace::host), 12345);
  EXPECT_EQ((*device)->budget(MemorySpace::pinned), 0);
  EXPECT_EQ((*device)->budget(MemorySpace::device), 0);
}

// Simulates a machine of two sockets with one core each, until the end of a test.
class TwoSockets {
 public:
  TwoSockets() { setenv("HWLOC_SYNTHETIC", "package:2 [numa(memory=1073741824)] core:1 pu:1", 1); }
  ~TwoSockets() { unsetenv("HWLOC_SYNTHETIC"); }
};

TEST(Backend, OpensAMachineOfSocketsOrOneOfThem) {
  const DeviceSpec one = describe_cpu(2);
  const TwoSockets machine;
  const DeviceSpec whole = describe_cpu(2);
  if (default_threads() < 2) GTEST_SKIP() << "this process may use less than two cores";
  EXPECT_EQ(whole.sockets, 2);
  EXPECT_EQ(whole.name, one.name);
  EXPECT_EQ(describe_cpu(1).sockets, 1);
  const auto device = backend().open(whole, 12345, 0, 0).value();
  EXPECT_EQ(device->socket(1).executor().workers(), 1);
  const DeviceSpec part = of_one_socket(whole);
  EXPECT_EQ(part.name, whole.name + ", one of 2 sockets");
  const auto socket = backend().open(part, 12345, 0, 0).value();
  EXPECT_EQ(socket->executor().workers(), 1);
  EXPECT_EQ(&socket->socket(0), socket.get());
}

TEST(Backend, RefusesSocketsThatAreNotThere) {
  DeviceSpec spec = describe_cpu(2);
  spec.sockets = 3;
  const auto refused = backend().open(spec, 1, 0, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("is described with 3 sockets"), std::string::npos) << refused.error().message;
}

TEST(Backend, RefusesASocketThatIsNotThere) {
  if (default_threads() < 2) GTEST_SKIP() << "this process may use less than two cores";
  DeviceSpec large;
  DeviceSpec part;
  {
    const TwoSockets machine;
    part = large = of_one_socket(describe_cpu(2));
    large.threads = 2;
    const auto refused = backend().open(large, 1, 0, 0);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("with 2 threads; here the first of 2 has 1 cores"), std::string::npos)
        << refused.error().message;
  }
  setenv("HWLOC_SYNTHETIC", "package:1 core:2 pu:1", 1);
  EXPECT_FALSE(backend().open(part, 1, 0, 0).has_value());
  unsetenv("HWLOC_SYNTHETIC");
}

TEST(Backend, RefusesWhatIsNoCpu) {
  DeviceSpec spec = describe_cpu(1);
  spec.threads = 0;
  EXPECT_FALSE(backend().open(spec, 1, 0, 0).has_value());
  spec = describe_cpu(1);
  spec.kind = DeviceKind::gpu;
  const auto refused = backend().open(spec, 1, 0, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace znni::cpu
