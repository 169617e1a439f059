// Every primitive of the registry against the oracle: result, declared memory, padding, surroundings of strided
// outputs, repeatability (see tests/support/harness.hpp). A primitive may refuse a problem; describe_test.cpp checks
// refusals.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/cases.hpp"
#include "tests/support/cpu.hpp"

namespace znni::test {
namespace {

// Number of problems in which each primitive took part.
using Takers = std::map<std::string, int>;

void check_all(const LayerProblem& problem, Device& device, std::uint64_t seed, Takers& takers) {
  std::vector<const Primitive*> some;
  for (const Primitive* primitive : cpu::registry()) {
    if (!primitive->describe(problem, device.spec())) continue;
    some.push_back(primitive);
    ++takers[std::string(primitive->name)];
  }
  check_primitives(some, problem, device, seed);
}

// Returns a strided convolution, which may leave a rest, and the pooling of its output.
ConvPoolProblem strided_conv_pool(Random& random) {
  ConvPoolProblem both = random_conv_pool_of_pairs(random, 4);
  both.conv.stride = {random.integer(1, 2), random.integer(1, 3), 2};
  const Vec3 steps = (both.pool.in.n - Vec3::cube(1)) * both.conv.stride;
  both.conv.in.n = dilated(both.conv.k, both.conv.dilation) + steps + random.vec3(0, 1) % both.conv.stride;
  return both;
}

// ZNNI_TEST_SEED=n ZNNI_TEST_CASES=1 repeats only case n.
TEST(ContractResults, RandomProblems) {
  const std::array<std::unique_ptr<Device>, 4> devices = {open_cpu(1), open_cpu(2), open_cpu(3), open_cpu(2, 4)};
  Takers takers;
  const int count = case_count(150);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    check_all(random_problem(random), *devices[seed % devices.size()], seed, takers);
    if (i % 3 == 0) {
      check_all(random_conv_pool_of_pairs(random, 8), *devices[seed % devices.size()], seed, takers);
    }
    if (i % 5 == 1) check_all(random_norm(random), *devices[seed % devices.size()], seed, takers);
    if (i % 5 == 2) check_all(random_across(random), *devices[seed % devices.size()], seed, takers);
    if (i % 5 == 3) check_all(random_attention(random), *devices[seed % devices.size()], seed, takers);
    if (i % 5 == 3) check_all(random_add_volume(random), *devices[seed % devices.size()], seed, takers);
    if (i % 5 == 4) check_all(random_stack(random), *devices[seed % devices.size()], seed, takers);
    if (i % 5 == 2) check_all(random_global_pool(random), *devices[seed % devices.size()], seed, takers);
    if (HasFatalFailure()) return;
  }
  if (count < 150) return;
  for (const Primitive* primitive : cpu::registry()) {
    EXPECT_EQ(takers[std::string(primitive->name)] > 0, takes_part(*primitive))
        << primitive->name << " took part in " << takers[std::string(primitive->name)] << " problems";
  }
}

// A primitive that took a strided layer for a dense one would read the wrong voxels: what is accepted must be right.
TEST(ContractResults, StridedConvolutions) {
  const std::unique_ptr<Device> device = open_cpu(2);
  Takers takers;
  const int count = case_count(60);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const int before = takers["cpu.conv.direct"];
    check_all(random_strided_conv(random, 1e7), *device, seed, takers);
    EXPECT_EQ(takers["cpu.conv.direct"], before + 1) << "a strided convolution has a planar way";
    check_all(strided_conv_pool(random), *device, seed, takers);
    if (HasFatalFailure()) return;
  }
  if (count < 60) return;
  std::set<std::string> took;
  for (const auto& [name, problems] : takers) took.insert(name);
  std::set<std::string> strided = {"cpu.conv.direct", "cpu.conv.direct_blocked"};
  if (cpu::describe_cpu(1).simd_floats >= 8) strided.insert("cpu.conv.onednn");
  if (cpu::describe_cpu(1).accelerator.bf16_flops_per_second > 0) strided.insert("cpu.conv.onednn_bf16");
  EXPECT_EQ(took, strided);
}

// Nor may one take groups that does not compute them.
TEST(ContractResults, GroupedConvolutions) {
  const std::unique_ptr<Device> device = open_cpu(2);
  Takers takers;
  const int count = case_count(40);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    check_all(random_grouped_conv(random, 1e7), *device, seed, takers);
    EXPECT_EQ(takers["cpu.conv.grouped"], i + 1);
    ConvPoolProblem both = strided_conv_pool(random);
    both.conv.stride = Vec3::cube(1);
    both.conv.groups = both.conv.f_out = both.pool.in.f = both.conv.in.f;
    both.pool.in.n = output_shape(both.conv).n;
    if (both.conv.groups > 1 && check(both)) check_all(both, *device, seed, takers);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(takers.size(), 1U);
}

TEST(ContractResults, NamedCases) {
  const std::unique_ptr<Device> device = open_cpu(2);
  for (const char* file : {"convolutions.txt", "poolings.txt"}) {
    const Result<std::vector<Case>> cases = read_cases(case_folder() / file);
    ASSERT_TRUE(cases.has_value()) << cases.error().message;
    for (const Case& one : *cases) {
      SCOPED_TRACE(one.name);
      Takers takers;
      check_all(one.problem, *device, 1, takers);
      EXPECT_FALSE(takers.empty()) << "no primitive computes " << to_string(one.problem);
    }
  }
}

// There are more workers than tasks, and more than the machine has processors.
TEST(ContractResults, ManyWorkersLittleWork) {
  const std::unique_ptr<Device> device = open_cpu(9);
  Takers takers;
  check_all(ConvProblem{{1, 1, {2, 3, 4}}, 1, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {}}, *device, 1, takers);
  check_all(PoolProblem{.in = {1, 1, {2, 2, 2}}}, *device, 1, takers);
  check_all(AcrossChannelsProblem{{1, 2, {1, 1, 1}}}, *device, 1, takers);
  EXPECT_GE(takers.size(), 3U);
}

}  // namespace
}  // namespace znni::test
