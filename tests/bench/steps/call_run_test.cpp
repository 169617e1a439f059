#include "tests/bench/steps/call_run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "tests/bench/layers/gradient_samples.hpp"
#include "tests/bench/steps/step_choice.hpp"
#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

const ConvProblem problem{{1, 17, {7, 8, 9}}, 5, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};

class CallRunTest : public testing::Test {
 protected:
  // Runs a call twice and compares all of its second result.
  void expect_right(const StepCall& call) {
    const auto block = device_->reserve(MemorySpace::host, CallRun::bytes_of(call), "test");
    ASSERT_TRUE(block);
    const auto run = CallRun::make(call, parameters_, *block, *device_);
    ASSERT_TRUE(run) << run.error().message;
    for (int i = 0; i < 2; ++i) {
      (*run)->fill();
      const Result<Seconds> seconds = (*run)->run();
      ASSERT_TRUE(seconds) << seconds.error().message;
      EXPECT_GT(*seconds, 0);
    }
    expect_near((*run)->result(), call.problem, call);
    const auto* gradient = std::get_if<GradientProblem>(&call.problem);
    if (gradient == nullptr || gradient->of != GradientOf::both) return;
    expect_near((*run)->weights(), GradientProblem{gradient->layer, GradientOf::weights}, call);
  }

  void expect_near(const TensorView& result, const StepProblem& exact, const StepCall& call) {
    for (const Place& place : sample_places(result.shape, 100)) {
      EXPECT_NEAR(result.at(place.s, place.f, place.n), exact_result(exact, parameters_.view(), place), 1e-3)
          << primitive_of(call) << " " << to_string(call.estimate.variant);
    }
  }

  const std::array<const Backend*, 1> backends_ = {&cpu::backend()};
  const Result<Catalogue> catalogue_ = Catalogue::make(backends_);
  const std::unique_ptr<Device> device_ = test::open_cpu(2);
  const StepParts parts_ = {*catalogue_, cpu::gradient_registry(), device_->spec()};
  LayerParameters parameters_ = random_parameters(problem);
};

TEST_F(CallRunTest, EveryWayIsRightInEachRun) {
  for (int part = 0; part < 4; ++part) {
    const auto calls = calls_of_part(problem, part, parts_);
    ASSERT_TRUE(calls);
    for (const StepCall& call : *calls) expect_right(call);
  }
}

// What a way keeps of its kernels is of the kernels of this run.
TEST_F(CallRunTest, KernelsThatChangeAreReadAgain) {
  const auto calls = calls_of_part(problem, 0, parts_);
  ASSERT_TRUE(calls);
  for (const StepCall& call : *calls) {
    const auto block = device_->reserve(MemorySpace::host, CallRun::bytes_of(call), "test");
    ASSERT_TRUE(block);
    parameters_ = random_parameters(problem);
    const auto run = CallRun::make(call, parameters_, *block, *device_);
    ASSERT_TRUE(run);
    for (float& kernel : parameters_.kernels) kernel = -kernel;
    (*run)->fill();
    ASSERT_TRUE((*run)->run());
    const Place place{0, 3, {1, 2, 3}};
    EXPECT_NEAR((*run)->result().at(place.s, place.f, place.n), exact_output(problem, parameters_.view(), place), 1e-3)
        << primitive_of(call);
  }
}

TEST_F(CallRunTest, BytesAreThoseOfAllBuffersAtOnceAlive) {
  const auto calls = calls_of_part(problem, 0, parts_);
  ASSERT_TRUE(calls);
  for (const StepCall& call : *calls) {
    const MemoryPlan& memory = call.estimate.memory;
    EXPECT_GE(CallRun::bytes_of(call), peak(memory) + persistent_bytes(memory)) << primitive_of(call);
  }
}

}  // namespace
}  // namespace znni::bench
