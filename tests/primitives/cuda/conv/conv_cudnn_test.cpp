// Questions to cuDNN and its answers, for a described H200: no GPU is needed.
#include <algorithm>
#include <cmath>

#include "primitives/cuda/conv/cudnn_convolution.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/gpu_bench/promising.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
extern const Primitive conv_cudnn;

namespace {

ConvProblem eighty(std::int64_t n, std::int64_t k, std::int64_t S = 1) {
  return {{S, 80, Vec3::cube(n)}, 80, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false};
}

std::vector<Estimate> of_format(const std::vector<Estimate>& estimates, Format format) {
  std::vector<Estimate> chosen;
  for (const Estimate& estimate : estimates) {
    if (estimate.in == format) chosen.push_back(estimate);
  }
  return chosen;
}

TEST(CudaConvCudnn, EveryPrecisionHasEngines) {
  const std::vector<Estimate> estimates = sound_estimates(conv_cudnn, eighty(48, 3));
  for (const Format format : {planar_f32, last_f32, last_bf16}) {
    EXPECT_FALSE(of_format(estimates, format).empty()) << to_string(format);
  }
  for (const Estimate& estimate : estimates) {
    EXPECT_EQ(setting(estimate.variant, "tf32", 0), estimate.in == last_f32 ? 1 : 0);
    EXPECT_GE(setting(estimate.variant, "engine", -1), 0);
  }
}

// 5^3 taps: too many for the forward kernels of the newest matrix instructions.
TEST(CudaConvCudnn, LargeKernelsAreOfferedAsGradientsToo) {
  const std::vector<Estimate> estimates = of_format(sound_estimates(conv_cudnn, eighty(48, 5)), last_bf16);
  const auto forms = [&](std::int64_t form) {
    return std::count_if(estimates.begin(), estimates.end(),
                         [&](const Estimate& e) { return setting(e.variant, "form", -1) == form; });
  };
  EXPECT_GT(forms(0), 0);
  EXPECT_GT(forms(1), 0);
  EXPECT_GT(forms(2), 0);
}

// Returns the forms and engines of the ways that znni-gpu-bench times with so many candidates.
std::vector<std::pair<std::int64_t, std::int64_t>> tried(std::int64_t k, Format format) {
  constexpr std::size_t candidates = 8;
  std::vector<gpu_bench::Candidate> all;
  for (const Estimate& estimate : of_format(sound_estimates(conv_cudnn, eighty(48, k)), format)) {
    all.push_back({&conv_cudnn, estimate, 0});
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const gpu_bench::Candidate& one : gpu_bench::most_promising(all, candidates)) {
    found.emplace_back(setting(one.estimate.variant, "form", -1), setting(one.estimate.variant, "engine", -1));
  }
  return found;
}

bool holds_engine(const std::vector<std::pair<std::int64_t, std::int64_t>>& found, std::int64_t engine) {
  return std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.second == engine; });
}

// Numbers of cuDNN 9 on the described H200: 10 and 22 are of older matrix instructions, 41, 62 and 67 of the newest,
// for the fused, the plain and the swapped form. The library ranks each in many settings before the next.
TEST(CudaConvCudnn, EveryEngineIsTriedBeforeAnotherSettingOfOne) {
  const auto bf16 = tried(3, last_bf16);
  for (const std::int64_t engine : {10, 41, 62, 67}) EXPECT_TRUE(holds_engine(bf16, engine)) << engine;
  for (const Format format : {last_bf16, last_f32}) {
    const auto found = tried(3, format);
    EXPECT_EQ(found.size(), 8U);
    for (const auto& one : found) {
      EXPECT_EQ(std::count(found.begin(), found.end(), one), 1) << "engine " << one.second << " of form " << one.first;
    }
  }
}

TEST(CudaConvCudnn, LargeKernelsAreTriedInForwardFormsToo) {
  const auto swapped = static_cast<std::int64_t>(CudnnForm::swapped);
  for (const Format format : {last_bf16, last_f32}) {
    const auto found = tried(5, format);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.first != swapped; }));
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.first == swapped; }));
  }
}

// A search through thousands of parts leaves those alone that cannot be fast enough, without asking the library.
TEST(CudaConvCudnn, SaysTheLeastThatItTakes) {
  DeviceSpec strict = described_gpu();
  strict.accelerator.tf32_flops_per_second = strict.accelerator.bf16_flops_per_second = 0;
  for (const DeviceSpec& spec : {strict, described_gpu()}) {
    for (const std::int64_t k : {1, 3, 5, 9}) {
      ConvProblem conv = eighty(40 + k, k);
      conv.residual = k == 5;
      conv.in.f = k == 9 ? 1 : 80;
      const std::vector<Estimate> estimates = sound_estimates(conv_cudnn, conv, spec);
      const auto fastest = std::min_element(estimates.begin(), estimates.end(),
                                            [](const Estimate& a, const Estimate& b) { return a.time < b.time; });
      EXPECT_GE(conv_cudnn.min_time(conv, spec), fastest->time / 3) << "k = " << k;
    }
  }
  EXPECT_TRUE(std::isinf(conv_cudnn.min_time(AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, strict)));
  EXPECT_TRUE(std::isinf(conv_cudnn.min_time(eighty(30, 3), a_cpu())));
}

TEST(CudaConvCudnn, MoreThanTwoToThe31ElementsOfABatchAreTaken) {
  EXPECT_FALSE(of_format(sound_estimates(conv_cudnn, eighty(100, 3, 64)), last_bf16).empty());
}

TEST(CudaConvCudnn, ResidualsAndOtherActivationsAreEndedByAKernelOfOurOwn) {
  ConvProblem conv = eighty(32, 3);
  conv.residual = true;
  for (const Estimate& estimate : sound_estimates(conv_cudnn, conv)) {
    EXPECT_NE(setting(estimate.variant, "form", -1), 1) << "fused forms take no residual";
  }
}

// Behind planes of earlier steps, which may end at any multiple of two or four bytes: what is offered was planned for
// that. Of twelve channels a plane of 47^2 voxels leaves bf16 an alignment of 8 bytes, with which some engines refuse.
TEST(CudaConvCudnn, StreamedTensorsHaveEnginesOfTheirOwn) {
  ConvProblem conv = eighty(47, 3);
  conv.in.f = 12;
  const auto variants = [&] {
    std::vector<Variant> all;
    for (const Estimate& estimate : of_format(sound_estimates(conv_cudnn, conv), last_bf16)) {
      all.push_back(estimate.variant);
    }
    return all;
  };
  const std::vector<Variant> dense = variants();
  conv.before = {1, 2};
  EXPECT_NE(variants(), dense);
  const std::vector<Estimate> estimates = sound_estimates(conv_cudnn, conv);
  for (const Format format : {planar_f32, last_f32, last_bf16}) {
    EXPECT_FALSE(of_format(estimates, format).empty()) << to_string(format);
  }
}

// Strides and groups have engines in every format; none of the gradient's form, whose strides mean something else.
TEST(CudaConvCudnn, StridesAndGroupsHaveEngines) {
  ConvProblem strided = eighty(33, 3);
  strided.stride = {1, 2, 2};
  ConvProblem grouped = eighty(32, 3);
  grouped.groups = 10;
  ConvProblem depthwise = eighty(31, 3);
  depthwise.groups = 80;
  depthwise.stride = {2, 2, 2};
  for (const ConvProblem& conv : {strided, grouped, depthwise}) {
    SCOPED_TRACE(to_string(LayerProblem(conv)));
    const std::vector<Estimate> estimates = sound_estimates(conv_cudnn, conv);
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      EXPECT_FALSE(of_format(estimates, format).empty()) << to_string(format);
    }
    for (const Estimate& estimate : estimates) {
      EXPECT_NE(setting(estimate.variant, "form", -1), static_cast<std::int64_t>(CudnnForm::swapped));
      const std::int64_t weights = conv.f_out * terms_of(conv) * element_bytes(estimate.in.type);
      EXPECT_GE(persistent_bytes(estimate.memory, MemorySpace::device), weights);
      EXPECT_LT(persistent_bytes(estimate.memory, MemorySpace::device), weights + 1024);
    }
  }
}

TEST(CudaConvCudnn, RefusesInWords) {
  expect_refusal(conv_cudnn, AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, "computes convolutions");
  expect_refusal(conv_cudnn, eighty(30, 3), "runs on GPUs", a_cpu());
  DeviceSpec unknown = described_gpu();
  unknown.name = "a GPU of which nothing is known";
  expect_refusal(conv_cudnn, eighty(30, 3), "cannot plan for 'a GPU of which nothing is known'", unknown);
}

}  // namespace
}  // namespace znni::cuda
