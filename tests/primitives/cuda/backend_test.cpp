#include "primitives/cuda/backend.hpp"

#include <algorithm>
#include <set>

#include "primitives/gpu/notes.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
namespace {

TEST(CudaBackend, PrimitivesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Primitive* primitive : registry()) {
    EXPECT_TRUE(names.insert(primitive->name).second) << primitive->name;
    EXPECT_TRUE(primitive->name.starts_with("cuda.")) << primitive->name;
    EXPECT_EQ(primitive->device, DeviceKind::gpu);
    EXPECT_GE(primitive->version, 1);
  }
  EXPECT_EQ(backend().primitives.data(), registry().data());
  EXPECT_EQ(backend().name, "cuda");
}

// Some primitive offers a way for each kind of layer that a U-Net has.
TEST(CudaBackend, EveryKindOfLayerIsTaken) {
  const Shape5 in{1, 8, {9, 9, 9}};
  ConvProblem conv{.in = in, .f_out = 4, .k = Vec3::cube(3), .activation = {}};
  std::vector<LayerProblem> problems = {conv,
                                        PoolProblem{.in = in},
                                        PoolProblem{.in = in, .kind = PoolKind::average},
                                        PoolProblem{.in = in, .stride = Vec3::cube(4), .mode = PoolMode::fragments},
                                        ActivationProblem{in, {ActivationKind::mish}},
                                        ScaleShiftProblem{in},
                                        AddProblem{in, 2, {}},
                                        ConcatProblem{{in, in}},
                                        CropProblem{in, {1, 1, 1}, {1, 1, 1}},
                                        NormProblem{in, 2},
                                        MultiplyProblem{in, 1},
                                        GlobalPoolProblem{in},
                                        PReluProblem{in}};
  conv.stride = {2, 2, 2};
  problems.emplace_back(conv);
  conv.groups = 4;
  problems.emplace_back(conv);
  for (int kind = 0; kind < 5; ++kind) problems.emplace_back(AcrossChannelsProblem{in, static_cast<AcrossKind>(kind)});
  for (int kind = 0; kind < 4; ++kind) {
    problems.emplace_back(UpsampleProblem{in, Vec3::cube(2), static_cast<UpsampleKind>(kind)});
  }
  for (const LayerProblem& problem : problems) {
    ASSERT_TRUE(check(problem)) << check(problem).error().message;
    const auto takes = [&](const Primitive* one) { return one->describe(problem, described_gpu()).has_value(); };
    EXPECT_TRUE(std::any_of(registry().begin(), registry().end(), takes)) << to_string(problem);
  }
}

// There is no kernel for it; a primitive that took it would compute something else.
TEST(CudaBackend, EveryPrimitiveRefusesAPooledConvolutionWithStrides) {
  const ConvProblem conv{{1, 2, {9, 9, 9}}, 4, {3, 3, 3}, {1, 1, 1}, {1, 1, 2}, {}};
  const LayerProblem unfit = ConvPoolProblem{conv, {.in = output_shape(conv), .mode = PoolMode::plain}};
  ASSERT_TRUE(check(unfit));
  for (const Primitive* primitive : registry()) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(unfit, described_gpu());
    ASSERT_FALSE(estimates) << primitive->name << " takes " << to_string(unfit);
    EXPECT_EQ(estimates.error().code, ErrorCode::unsupported);
    EXPECT_THAT(estimates.error().message, ::testing::HasSubstr(", not: " + to_string(unfit)));
  }
}

TEST(CudaBackend, ProbingNeedsNoDriver) { EXPECT_EQ(backend().probe().size(), read_gpus().size()); }

TEST(CudaBackend, AGpuThatIsNotThereIsNamed) {
  DeviceSpec spec = described_gpu();
  spec.name = "a GPU of the future";
  const Result<std::unique_ptr<Device>> device = backend().open(spec, 0, 0, 1 << 20);
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, ErrorCode::not_found);
  EXPECT_THAT(device.error().message, ::testing::HasSubstr("'a GPU of the future'"));
}

TEST(CudaBackend, OfAGpuThatIsNotThereNoMemoryIsKnown) {
  DeviceSpec spec = described_gpu();
  spec.name = "a GPU of the future";
  EXPECT_EQ(backend().memory(spec).error().code, ErrorCode::not_found);
}

TEST(CudaBackend, GivesTheNotesOfItsPrimitives) {
  backend_notes().add("a note of a test");
  EXPECT_THAT(backend().notes(), ::testing::Contains("a note of a test"));
  EXPECT_THAT(backend().notes(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace znni::cuda
