// Every primitive of the CUDA back end on a GPU, against the oracle. Skipped where there is none.
#include <map>

#include "primitives/cuda/backend.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/cuda/gpu_run.hpp"
#include "tests/primitives/cuda/require_gpu.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

class CudaResultsOnGpu : public OnGpu {
 protected:
  void check_all(const LayerProblem& problem, std::uint64_t seed, std::string_view without = "") {
    const GpuCase of = make_case(problem, seed);
    for (const Primitive* primitive : registry()) {
      if (primitive->name == without || !primitive->describe(problem, device_->spec())) continue;
      check_on_gpu(*primitive, of, *device_);
      ++takers_[std::string(primitive->name)];
    }
  }
  std::map<std::string, int> takers_;
};

TEST_F(CudaResultsOnGpu, RandomProblems) {
  const int count = test::case_count(50);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    check_all(test::random_problem(random), seed);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaResultsOnGpu, RandomFirstLayersThatArePooled) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    check_all(test::random_conv_pool(random, 3, 4e7), seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(takers_["cuda.conv.first_pool"], 0);
}

// Products, quotients, and what is made across channels.
TEST_F(CudaResultsOnGpu, RandomProductsAndVoxels) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    AcrossChannelsProblem across = test::random_across(random);
    for (const std::int64_t f_other : {std::int64_t{1}, across.in.f}) {
      check_all(MultiplyProblem{across.in, f_other}, seed);
      check_all(DivideProblem{across.in, f_other}, seed);
    }
    for (int kind = 0; kind < 5; ++kind) {
      across.kind = static_cast<AcrossKind>(kind);
      check_all(across, seed);
    }
    if (HasFatalFailure()) return;
  }
  for (const char* name : {"cuda.multiply", "cuda.divide", "cuda.softmax", "cuda.arg_max", "cuda.channel_norm"}) {
    EXPECT_GT(takers_[name], 0) << name;
  }
}

TEST_F(CudaResultsOnGpu, RandomDilatedPoolings) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    for (const PoolMode mode : {PoolMode::plain, PoolMode::fragments}) {
      PoolProblem pool = test::random_dilated_pool(random, mode);
      for (const PoolKind kind : {PoolKind::max, PoolKind::average, PoolKind::average_inside}) {
        pool.kind = kind;
        check_all(pool, seed);
      }
    }
    if (HasFatalFailure()) return;
  }
  for (const char* name : {"cuda.pool.max", "cuda.pool.average", "cuda.pool.mpf"}) EXPECT_GT(takers_[name], 0) << name;
}

TEST_F(CudaResultsOnGpu, RandomUpsamplings) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    UpsampleProblem nearest = test::random_upsample(random);
    nearest.kind = UpsampleKind::nearest;
    UpsampleProblem shuffle = nearest;
    shuffle.kind = UpsampleKind::shuffle;
    shuffle.in.f *= voxels(shuffle.factor);
    for (const UpsampleProblem& problem :
         {nearest, shuffle, test::random_linear_upsample(random), test::random_aligned_upsample(random)}) {
      check_all(problem, seed);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(takers_["cuda.upsample"], 4 * test::case_count(20));
}

// Means, deviations and largest values of all voxels; the last problem has channels of several parts.
TEST_F(CudaResultsOnGpu, RandomNormalisationsAndPoolingsOfAllVoxels) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    NormProblem norm = test::random_norm(random);
    norm.kind = NormKind::deviation;
    check_all(norm, seed);
    GlobalPoolProblem pool = test::random_global_pool(random);
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
      pool.kind = kind;
      check_all(pool, seed);
    }
    if (HasFatalFailure()) return;
  }
  check_all(NormProblem{{1, 34, {3, 70, 60}}, 2}, 1);
  EXPECT_EQ(takers_["cuda.norm"], test::case_count(20) + 1);
  EXPECT_EQ(takers_["cuda.global_pool"], 2 * test::case_count(20));
}

TEST_F(CudaResultsOnGpu, RandomStacks) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    check_all(test::random_stack(random), seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(takers_["cuda.pool.stack"], test::case_count(20));
}

TEST_F(CudaResultsOnGpu, RandomConvolutionsWithStridesAndGroups) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    check_all(test::random_strided_conv(random, 1e6), seed);
    check_all(test::random_grouped_conv(random, 1e6), seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(takers_["cuda.conv.direct"], 2 * test::case_count(20));
}

// Without cuDNN, whose kernels a memory checker takes minutes to make ready: what deploy/gpu_check.sh runs under one.
TEST_F(CudaResultsOnGpu, KernelsOfOurOwn) {
  for (int i = 0; i < test::case_count(8); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const LayerProblem problems[] = {test::random_conv(random, 4e5),
                                     test::random_conv_pool(random, 3, 4e5),
                                     test::random_pool(random, PoolMode::plain),
                                     test::random_pool(random, PoolMode::fragments),
                                     test::random_elementwise(random),
                                     ReorderProblem{{2, 37, {3, 2, 41}}, planar_f32, last_bf16}};
    for (const LayerProblem& problem : problems) check_all(problem, seed, "cuda.conv.cudnn");
    if (HasFatalFailure()) return;
  }
  const ConvProblem conv{{1, 1, {10, 10, 38}},      20,   Vec3::cube(2), {1, 1, 1}, {1, 1, 1},
                         {ActivationKind::relu, 0}, false};
  const ConvPoolProblem pooled{conv, {.in = output_shape(conv), .mode = PoolMode::fragments}};
  check_all(pooled, 1, "cuda.conv.cudnn");
  for (const char* name : {"cuda.conv.fft32", "cuda.conv.first_pool", "cuda.reorder"}) EXPECT_GT(takers_[name], 0);
}

// Tensors that begin behind planes of earlier steps, at multiples of 4, 8 and 16 bytes.
TEST_F(CudaResultsOnGpu, ConvolutionsOfStreams) {
  for (const PlanesBefore before : {PlanesBefore{1, 0}, {0, 1}, {2, 2}, {4, 3}}) {
    for (const std::int64_t f : {1, 12}) {
      ConvProblem conv{{2, f, {5, 7, 15}}, 16, Vec3::cube(3), {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}, false};
      conv.before = before;
      check_all(conv, 1);
    }
  }
}

TEST_F(CudaResultsOnGpu, ReordersBetweenAllFormats) {
  const Shape5 shape{2, 37, {3, 5, 41}};
  const Format last_f16{ElementType::f16, Layout::channels_last};
  const Format planar_bf16{ElementType::bf16, Layout::planar};
  for (const Format from : {planar_f32, last_f32, last_bf16, last_f16, planar_bf16}) {
    for (const Format to : {planar_f32, last_f32, last_bf16, last_f16, planar_bf16}) {
      if (from != to) check_all(ReorderProblem{shape, from, to}, 1);
    }
  }
  EXPECT_EQ(takers_["cuda.reorder"], 20);
}

TEST_F(CudaResultsOnGpu, NamedCases) {
  for (const char* file : {"convolutions.txt", "poolings.txt"}) {
    const Result<std::vector<test::Case>> cases = test::read_cases(test::case_folder() / file);
    ASSERT_TRUE(cases.has_value()) << cases.error().message;
    for (const test::Case& one : *cases) {
      SCOPED_TRACE(one.name);
      check_all(one.problem, 1);
    }
  }
}

// The layers of the benchmark nets, small: 80 channels, kernels of 2 to 9, fragments in the batch.
TEST_F(CudaResultsOnGpu, LayersOfTheBenchmarkNets) {
  for (const std::int64_t k : {2, 3, 4, 5, 7, 9}) {
    check_all(
        ConvProblem{
            {2, 80, Vec3::cube(k + 7)}, 80, Vec3::cube(k), {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}, false},
        static_cast<std::uint64_t>(k));
  }
  check_all(
      ConvProblem{{1, 1, Vec3::cube(20)}, 80, Vec3::cube(4), {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}, false},
      1);
  check_all(ConvProblem{{1, 80, Vec3::cube(12)}, 3, Vec3::cube(3), {1, 1, 1}, {1, 1, 1}, {}, false}, 1);
  check_all(PoolProblem{.in = {1, 80, Vec3::cube(17)}, .mode = PoolMode::fragments}, 1);
  for (const std::int64_t k : {2, 4, 6, 8}) {
    const ConvProblem conv{{1, 1, Vec3::cube(k + 36)}, 80,   Vec3::cube(k), {1, 1, 1}, {1, 1, 1},
                           {ActivationKind::relu, 0},  false};
    check_all(ConvPoolProblem{conv, {.in = output_shape(conv), .mode = PoolMode::fragments}}, 1);
  }
}

}  // namespace
}  // namespace znni::cuda
