// The contract of every accelerator, simulated or real: primitives/core/accelerator.hpp, and primitives that equal the
// oracle. Cases for an absent accelerator skip themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "primitives/core/precision.hpp"
#include "primitives/hybrid/divided_layer.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/support/accelerator_run.hpp"
#include "tests/support/accelerators.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/naive_outside.hpp"
#include "tests/support/random.hpp"

namespace znni::test {
namespace {

class ContractAccelerators : public OnAccelerator {
 protected:
  [[nodiscard]] Reservation take(MemorySpace space, std::int64_t bytes) {
    return std::move(gpu().reserve(space, bytes, "test").value());
  }
};

// Returns a reorder between two of the formats of GPU plans.
ReorderProblem random_reorder(Random& random) {
  const std::int64_t from = random.integer(0, 2);
  const std::int64_t to = (from + random.integer(1, 2)) % 3;
  return {{random.integer(1, 2), random.integer(1, 9), random.vec3(1, 7)},
          all_edge_formats[static_cast<std::size_t>(from)],
          all_edge_formats[static_cast<std::size_t>(to)]};
}

// Returns a problem of each kind that some primitive takes, in turn.
LayerProblem random_case(Random& random, int number) {
  switch (number % 7) {
    case 0: return random_conv(random, 1e6);
    case 1: return random_pool(random, PoolMode::plain);
    case 2: return random_pool(random, PoolMode::fragments);
    case 3: return random_elementwise(random);
    case 4: return random_conv_pool(random, 3, 1e6);
    case 5: return random_reorder(random);
    default: return random_problem(random);
  }
}

std::span<float> floats(const Reservation& block) {
  return {reinterpret_cast<float*>(block.data()), static_cast<std::size_t>(block.bytes()) / sizeof(float)};
}

TEST_P(ContractAccelerators, ReservesWithinItsBudgetsAndNotBeyond) {
  for (const MemorySpace space : {MemorySpace::pinned, MemorySpace::device}) {
    const std::int64_t budget = gpu().budget(space);
    const Reservation block = take(space, budget / 2);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % buffer_alignment, 0U);
    EXPECT_GE(gpu().reserved(space), budget / 2);
    const Result<Reservation> more = gpu().reserve(space, budget, "too much");
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::over_budget);
  }
  EXPECT_EQ(gpu().reserved(MemorySpace::device), 0);
  const Reservation pinned = take(MemorySpace::pinned, 4096);
  for (const float value : floats(pinned)) EXPECT_EQ(value, 0.0F);
}

// Plans count buffers in whole buffer_alignments; a plan that exactly fills the budget must be reservable.
TEST_P(ContractAccelerators, TakesOfItsBudgetWhatPlansCount) {
  for (const MemorySpace space : {MemorySpace::pinned, MemorySpace::device}) {
    const std::int64_t whole = gpu().budget(space) / buffer_alignment * buffer_alignment;
    std::vector<Reservation> blocks;
    std::int64_t counted = 0;
    for (const std::int64_t bytes : {1, 63, 64, 65, 511, 513, 4097}) {
      blocks.push_back(take(space, bytes));
      counted += round_up(bytes, buffer_alignment);
      EXPECT_EQ(gpu().reserved(space), counted) << bytes << " bytes of " << to_string(space) << " memory";
    }
    if (space == MemorySpace::device) blocks.push_back(take(space, whole - counted));
  }
}

TEST_P(ContractAccelerators, WritesAndReadsBack) {
  const Reservation block = take(MemorySpace::device, 4096);
  std::vector<float> sent(1024);
  std::iota(sent.begin(), sent.end(), 1.0F);
  ASSERT_TRUE(gpu().write(block.data(), std::as_bytes(std::span(sent))));
  std::vector<float> back(1024);
  ASSERT_TRUE(gpu().read(std::as_writable_bytes(std::span(back)), block.data()));
  EXPECT_EQ(back, sent);
}

// Copies rows with gaps up, within the device and down again.
TEST_P(ContractAccelerators, CopiesRows) {
  const Reservation pinned = take(MemorySpace::pinned, 4096);
  const Reservation device = take(MemorySpace::device, 4096);
  const std::span<float> host = floats(pinned);
  std::iota(host.begin(), host.end(), 0.0F);
  ASSERT_TRUE(gpu().fill(Stream::compute, {device.data(), 4096}, std::byte{0}));
  // Four rows of 8 floats, 16 apart, go to rows 8 apart, and from there to rows 12 apart, further on.
  ASSERT_TRUE(gpu().upload(Stream::compute, device.data(), pinned.data(), {32, 4, 32, 64}));
  ASSERT_TRUE(gpu().copy(Stream::compute, device.data() + 1024, device.data(), {32, 4, 48, 32}));
  ASSERT_TRUE(gpu().download(Stream::compute, pinned.data() + 2048, device.data() + 1024, {4 * 48, 1, 0, 0}));
  ASSERT_TRUE(gpu().synchronise());
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 12; ++i) {
      const float expected = i < 8 ? static_cast<float>(16 * row + i) : 0.0F;
      EXPECT_EQ(host[static_cast<std::size_t>(512 + 12 * row + i)], expected) << row << " " << i;
    }
  }
}

// Fills of padding by every rule, planar and channels last, at random places.
TEST_P(ContractAccelerators, SetsWhatIsOutside) {
  Random random(base_seed());
  for (int i = 0; i < case_count(40); ++i) {
    const Shape5 shape{1, random.integer(1, 5), random.vec3(1, 9)};
    const std::vector<float> before = random.normals(elements(shape));
    const Reservation block = take(MemorySpace::device, std::ssize(before) * std::int64_t{sizeof(float)});
    ASSERT_TRUE(gpu().write(block.data(), std::as_bytes(std::span(before))));
    const Format format{ElementType::f32, random.chance(0.5) ? Layout::planar : Layout::channels_last};
    const OutsideFill fill = random_fill(dense_view(floats(block).data(), shape, format), random);
    ASSERT_TRUE(gpu().fill_outside(Stream::compute, fill));
    std::vector<float> found(before.size());
    ASSERT_TRUE(gpu().read(std::as_writable_bytes(std::span(found)), block.data()));
    const auto at = [&](std::int64_t j, std::int64_t v) {
      return static_cast<std::size_t>(format.layout == Layout::planar ? j * voxels(shape.n) + v : v * shape.f + j);
    };
    for (std::int64_t j = 0; j < shape.f; ++j) {
      std::vector<float> channel;
      for (std::int64_t v = 0; v < voxels(shape.n); ++v) channel.push_back(before[at(j, v)]);
      for (std::int64_t v = 0; v < voxels(shape.n); ++v) {
        const Vec3 voxel{v / (shape.n.y * shape.n.x), v / shape.n.x % shape.n.y, v % shape.n.x};
        ASSERT_EQ(found[at(j, v)], after_outside(fill, channel, voxel)) << to_string(voxel) << " of case " << i;
      }
    }
  }
}

// Three streams joined by events fill slots, move them on and empty them; no stream may overtake another.
TEST_P(ContractAccelerators, EventsOrderStreams) {
  constexpr std::int64_t bytes = 1 << 16;
  const Reservation pinned = take(MemorySpace::pinned, 2 * bytes);
  const Reservation device = take(MemorySpace::device, 2 * bytes);
  std::array<Event, 3> passed;
  for (Event& event : passed) event = std::move(gpu().make_event().value());
  const std::span<float> host = floats(pinned);
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(gpu().synchronise(passed[2]));  // at first an event that was never recorded
    std::fill(host.begin(), host.begin() + bytes / 4, static_cast<float>(round));
    ASSERT_TRUE(gpu().upload(Stream::upload, device.data(), pinned.data(), {bytes, 1, 0, 0}));
    ASSERT_TRUE(gpu().record(Stream::upload, passed[0]));
    ASSERT_TRUE(gpu().wait(Stream::compute, passed[0]));
    ASSERT_TRUE(gpu().copy(Stream::compute, device.data() + bytes, device.data(), {bytes, 1, 0, 0}));
    ASSERT_TRUE(gpu().record(Stream::compute, passed[1]));
    ASSERT_TRUE(gpu().wait(Stream::download, passed[1]));
    ASSERT_TRUE(gpu().download(Stream::download, pinned.data() + bytes, device.data() + bytes, {bytes, 1, 0, 0}));
    ASSERT_TRUE(gpu().record(Stream::download, passed[2]));
    ASSERT_TRUE(gpu().synchronise(passed[2]));
    for (std::size_t i = bytes / 4; i < host.size(); i += 1000) ASSERT_EQ(host[i], static_cast<float>(round));
  }
  EXPECT_GT(gpu().seconds_between(passed[0], passed[2]).value(), 0.0);
}

TEST_P(ContractAccelerators, PrimitivesEqualTheOracle) {
  std::map<std::string, int> takers;
  for (int i = 0; i < case_count(120); ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const LayerProblem problem = random_case(random, i);
    for (const Primitive* primitive : opened_.primitives) {
      if (!primitive->describe(problem, gpu().spec())) continue;
      check_on_accelerator(*primitive, problem, gpu(), seed, opened_.poison);
      ++takers[std::string(primitive->name)];
    }
  }
  if (case_count(120) < 120) return;
  for (const Primitive* primitive : opened_.primitives) {
    EXPECT_GT(takers[std::string(primitive->name)], 0) << primitive->name << " took part in no problem";
  }
}

TEST_P(ContractAccelerators, PrimitivesAreOfItsKindAndKeepTheirBuffersThere) {
  Random random(base_seed());
  for (int i = 0; i < case_count(60); ++i) {
    const LayerProblem problem = random_problem(random);
    for (const Primitive* primitive : opened_.primitives) {
      EXPECT_EQ(primitive->device, DeviceKind::gpu) << primitive->name;
      const Result<std::vector<Estimate>> estimates = primitive->describe(problem, gpu().spec());
      if (!estimates) continue;
      for (const Estimate& estimate : *estimates) {
        EXPECT_EQ(peak(estimate.memory, MemorySpace::host), 0) << primitive->name;
        EXPECT_GE(peak(estimate.memory, MemorySpace::device), tensor_bytes(output_shape(problem), estimate.out));
      }
    }
  }
}

const Primitive* reorder_of(std::span<const Primitive* const> primitives, const DeviceSpec& spec) {
  const ReorderProblem example{{1, 1, Vec3::cube(1)}, planar_f32, last_f32};
  const auto found = std::find_if(primitives.begin(), primitives.end(),
                                  [&](const Primitive* one) { return one->describe(example, spec).has_value(); });
  return found == primitives.end() ? nullptr : *found;
}

// A convolution in sub-layers from host memory, by each primitive that can compute the parts. The parts are reordered
// if the primitive takes other formats.
TEST_P(ContractAccelerators, DividedConvolutionsEqualTheOracle) {
  const ConvProblem conv{
      .in = {2, 4, {12, 9, 10}}, .f_out = 4, .k = {3, 2, 3}, .activation = {ActivationKind::relu, 0}};
  Random random(base_seed());
  const Weights weights = random_weights(conv, random);
  const std::vector<std::vector<float>> inputs = random_inputs(conv, random);
  const std::vector<oracle::Values> exact = {oracle::widened(inputs[0])};
  const oracle::Values expected = oracle::oracle_run(conv, exact, weights.view());
  const Primitive* const reorder = reorder_of(opened_.primitives, gpu().spec());
  ASSERT_NE(reorder, nullptr);
  int divided = 0;
  for (const Primitive* primitive : opened_.primitives) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(conv, gpu().spec());
    if (!estimates) continue;
    for (const Estimate& of : *estimates) {
      const bool planar = of.in == planar_f32 && of.out == planar_f32;
      if (planar && !is_strict(of)) continue;
      const Precision precision = precision_of(of.variant, of.in, of.out);
      for (const Division& division : {Division{1, 0, 0, 3}, Division{0, 2, 2, 0}, Division{1, 1, 3, 4}}) {
        const hybrid::DividedChoice choice{
            primitive, of.variant, of.in, of.out, division, divided % 2 == 0, planar ? nullptr : reorder};
        const Result<Estimate> estimate = hybrid::describe_divided(conv, choice, gpu().spec());
        if (!estimate) continue;
        const auto run = AcceleratorRun::make(
            conv, *estimate, gpu(),
            [&](Arena& persistent) {
              return hybrid::prepare_divided(conv, choice, weights.view(), persistent, gpu(), opened_.poison);
            },
            opened_.poison);
        ASSERT_TRUE(run) << primitive->name << ": " << run.error().message;
        const Result<std::vector<float>> found = (*run)->run(inputs);
        ASSERT_TRUE(found) << primitive->name << ": " << found.error().message;
        expect_close(*found, expected, 2 * oracle::tolerance(conv, exact, weights.view(), precision),
                     name_of(*primitive, conv, of, base_seed()));
        ++divided;
      }
    }
  }
  EXPECT_GT(divided, 0);
}

INSTANTIATE_TEST_SUITE_P(On, ContractAccelerators, testing::ValuesIn(accelerator_names()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace znni::test
