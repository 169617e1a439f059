#include "primitives/cuda/conv/cudnn_engines.hpp"

#include "primitives/cuda/conv/cudnn_device.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/cuda/gpu_specs.hpp"

namespace znni::cuda {
namespace {

std::vector<EngineChoice> engines(const ConvProblem& conv, Format format, CudnnForm form, Precision precision) {
  const Result<CudnnDescriptor> device = cudnn_device(described_gpu());
  const Result<CudnnGraph> graph = make_graph(declared_convolution(conv, format, form));
  if (!device || !graph) return {};
  return offered_engines(*graph, *device, precision, 8);
}

ConvProblem eighty(std::int64_t n, std::int64_t k) {
  return {{1, 80, Vec3::cube(n)}, 80, Vec3::cube(k), Vec3::cube(1), Vec3::cube(1), {ActivationKind::relu, 0.0F}, false};
}

TEST(CudnnEngines, StrictFloat32TakesNoMatrixUnits) {
  const std::vector<EngineChoice> strict = engines(eighty(48, 3), planar_f32, CudnnForm::plain, Precision::fp32);
  EXPECT_FALSE(strict.empty());
  for (const EngineChoice& choice : strict) EXPECT_FALSE(choice.matrix_units) << "engine " << choice.engine;
}

TEST(CudnnEngines, Bf16TakesMatrixUnitsWithoutWorkspace) {
  for (const std::int64_t k : {3, 5}) {
    const std::vector<EngineChoice> offered = engines(eighty(48, k), last_bf16, CudnnForm::fused, Precision::bf16);
    ASSERT_FALSE(offered.empty()) << "k = " << k;
    EXPECT_TRUE(
        std::any_of(offered.begin(), offered.end(),
                    [](const EngineChoice& choice) { return choice.matrix_units && choice.workspace_bytes == 0; }))
        << "k = " << k;
  }
}

TEST(CudnnEngines, WhatSpreadsErrorsOrChangesFromRunToRunIsNotTaken) {
  using Notes = std::vector<cudnnBackendNumericalNote_t>;
  const std::vector<cudnnBackendBehaviorNote_t> plain = {CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER};
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    EXPECT_TRUE(is_acceptable(Notes(), {}, precision));
    EXPECT_TRUE(is_acceptable(Notes(), plain, precision));
    for (const auto note :
         {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
          CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}) {
      EXPECT_FALSE(is_acceptable(Notes{note}, plain, precision)) << note;
      EXPECT_FALSE(is_acceptable(Notes{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, note}, {}, precision)) << note;
    }
    const std::vector<cudnnBackendBehaviorNote_t> generated = {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION};
    EXPECT_FALSE(is_acceptable(Notes(), generated, precision));
  }
  const Notes units = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  EXPECT_FALSE(is_acceptable(units, {}, Precision::fp32));
  EXPECT_TRUE(is_acceptable(units, {}, Precision::tf32));
  EXPECT_TRUE(is_acceptable(units, {}, Precision::bf16));
}

TEST(CudnnEngines, NoChoiceIsOfferedTwice) {
  const std::vector<EngineChoice> offered = engines(eighty(32, 3), last_bf16, CudnnForm::plain, Precision::bf16);
  for (std::size_t i = 0; i < offered.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(offered[i] == offered[j]);
  }
}

// All of them stand before the second setting of any.
TEST(CudnnEngines, EachEngineComesAsItIsRankedFirst) {
  for (const CudnnForm form : {CudnnForm::fused, CudnnForm::plain, CudnnForm::swapped}) {
    const std::vector<EngineChoice> offered = engines(eighty(48, 3), last_bf16, form, Precision::bf16);
    ASSERT_GE(offered.size(), 4U);
    std::vector<std::int64_t> seen;
    bool again = false;
    for (const EngineChoice& choice : offered) {
      const bool is_new = std::find(seen.begin(), seen.end(), choice.engine) == seen.end();
      EXPECT_FALSE(is_new && again) << "engine " << choice.engine;
      again = again || !is_new;
      seen.push_back(choice.engine);
    }
    EXPECT_NE(offered[0].engine, offered[1].engine);
  }
}

TEST(CudnnEngines, AVariantHoldsTheWholeChoice) {
  const EngineChoice choice{62, {{2, 5}, {14, 3}}, 0, false};
  const Variant variant = to_variant(choice);
  EXPECT_EQ(to_string(variant), "engine=62,knob 2=5,knob 14=3");
  EXPECT_EQ(from_variant(variant), choice);
  EXPECT_EQ(from_variant({}).engine, -1);
}

TEST(CudnnEngines, TheSameQuestionHasTheSameAnswer) {
  const ConvProblem conv = eighty(40, 4);
  EXPECT_EQ(engines(conv, last_f32, CudnnForm::plain, Precision::tf32),
            engines(conv, last_f32, CudnnForm::plain, Precision::tf32));
}

}  // namespace
}  // namespace znni::cuda
