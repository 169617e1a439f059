// Inputs with huge values beside small ones. The error of each output voxel may follow only the largest value within
// its reach: the voxels that it reads and, for a transform, Estimate::spread around them. Values further away must have
// no effect.
#include <gtest/gtest.h>
#include <algorithm>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "tests/oracle/local_tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::test {
namespace {

using FloatVector = std::vector<float>;

// Returns values of deviation 1, with some blocks of voxels, in all channels, of 1e6 to 1e12.
FloatVector uneven(const Shape5& shape, Random& random) {
  FloatVector values = random.normals(elements(shape));
  for (std::int64_t blocks = random.integer(1, 3); blocks > 0; --blocks) {
    const float magnitude = std::pow(10.0F, static_cast<float>(random.integer(6, 12)));
    const std::int64_t s = random.integer(0, shape.S - 1);
    const Vec3 size = min(random.vec3(1, 4), shape.n);
    const Vec3 room = shape.n - size;
    const Vec3 first{random.integer(0, room.z), random.integer(0, room.y), random.integer(0, room.x)};
    for (std::int64_t i = 0; i < shape.f * voxels(size); ++i) {
      const std::int64_t channel = s * shape.f + i / voxels(size);
      const Vec3 at = first + Vec3{i / (size.y * size.x) % size.z, i / size.x % size.y, i % size.x};
      values[static_cast<std::size_t>(((channel * shape.n.z + at.z) * shape.n.y + at.y) * shape.n.x + at.x)] *=
          magnitude;
    }
  }
  return values;
}

// Returns a convolution of more voxels than a tile has; its channels are therefore few.
ConvProblem wide_conv(Random& random) {
  for (;;) {
    ConvProblem conv = random_conv(random);
    conv.in.n = dilated(conv.k, conv.dilation) + random.vec3(0, 40);
    if (direct_flops(conv) <= 1.5e7) return conv;
  }
}

ConvPoolProblem wide_conv_pool(Random& random) {
  for (;;) {
    ConvPoolProblem both = random_conv_pool_of_pairs(random, 3);
    const Vec3 more = both.pool.stride * random.vec3(0, 10);
    both.pool.in.n = both.pool.in.n + more;
    both.conv.in.n = both.conv.in.n + more;
    if (direct_flops(both) <= 1.5e7) return both;
  }
}

LayerProblem any_problem(Random& random) {
  switch (random.integer(0, 4)) {
    case 0: return random_problem(random);
    case 1: return wide_conv_pool(random);
    default: return wide_conv(random);
  }
}

// A problem with its data and its exact result.
struct Layer {
  LayerProblem problem;
  std::vector<FloatVector> inputs;
  Weights weights;
  std::vector<oracle::Values> exact_inputs;
  oracle::Values exact;

  Layer(LayerProblem made, Random& random) : problem(std::move(made)), weights(random_weights(problem, random)) {
    for (int index = 0; index < input_count(problem); ++index) {
      inputs.push_back(uneven(input_shape(problem, index), random));
      exact_inputs.push_back(oracle::widened(inputs.back()));
    }
    exact = oracle::oracle_run(problem, exact_inputs, weights.view());
  }

  [[nodiscard]] FloatVector run(const Primitive& primitive, const Estimate& estimate, Device& device) const {
    return run_once(primitive, problem, estimate, weights.view(), inputs, device).values;
  }

  // Returns how many outputs are further off than `spread` allows.
  [[nodiscard]] int beyond(const FloatVector& found, Vec3 spread) const {
    const Shape5 out = output_shape(problem);
    const std::int64_t count = voxels(out.n);
    const oracle::Values allowed = oracle::local_tolerance(problem, exact_inputs, weights.view(), spread);
    int beyond = 0;
    for (std::int64_t i = 0; i < elements(out); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto voxel = static_cast<std::size_t>(i / (out.f * count) * count + i % count);
      if (!(std::abs(static_cast<double>(found[at]) - exact[at]) <= allowed[voxel])) ++beyond;
    }
    return beyond;
  }
};

// Opens a CPU whose caches, vectors and rates, which tiles follow, are the same on every x86-64 machine.
std::unique_ptr<Device> open_known_cpu() {
  DeviceSpec spec = cpu::describe_cpu(1);            // several workers divide voxels among them, not sums
  spec.simd_floats = std::min(spec.simd_floats, 8);  // all x86-64 processors that are supported have as many
  spec.l2_bytes = std::int64_t{1} << 20;
  spec.l3_bytes = std::int64_t{32} << 20;
  spec.hertz = 3e9;
  spec.flops_per_second = 1e11;
  spec.bytes_per_second = 2e10;
  return std::move(cpu::backend().open(spec, std::int64_t{4} << 30, 0, 0).value());
}

// Calls visit(layer, primitive, estimate, device) for every estimate of every primitive for some random problems.
template <class Visit>
void for_each_way(int count, const Visit& visit) {
  const std::unique_ptr<Device> device = open_known_cpu();
  for (int i = 0; i < case_count(count); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Layer layer(any_problem(random), random);
    for (const Primitive* primitive : cpu::registry()) {
      const Result<std::vector<Estimate>> estimates = primitive->describe(layer.problem, device->spec());
      if (!estimates) continue;
      for (const Estimate& estimate : *estimates) {
        SCOPED_TRACE(name_of(*primitive, layer.problem, estimate, seed));
        visit(layer, *primitive, estimate, *device);
      }
    }
  }
}

TEST(ContractLocality, EveryVoxelIsAsExactAsWhatIsWithinItsReachAllows) {
  for_each_way(50, [](const Layer& layer, const Primitive& primitive, const Estimate& estimate, Device& device) {
    EXPECT_EQ(layer.beyond(layer.run(primitive, estimate, device), estimate.spread), 0);
  });
}

// Guards the test above, which would pass if transforms spread nothing: some case must show each transform's spread.
TEST(ContractLocality, WhatSpreadsIsFeltBeyondWhatAVoxelReads) {
  std::map<std::string_view, int> felt;
  for_each_way(50, [&](const Layer& layer, const Primitive& primitive, const Estimate& estimate, Device& device) {
    if (estimate.spread == Vec3{} || felt[primitive.name] > 0) return;
    felt[primitive.name] += layer.beyond(layer.run(primitive, estimate, device), {});
  });
  if (case_count(50) < 50) return;
  EXPECT_EQ(felt.size(), 5U);
  for (const auto& [name, outputs] : felt) EXPECT_GT(outputs, 0) << name;
}

}  // namespace
}  // namespace znni::test
