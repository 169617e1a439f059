#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::test {
namespace {

struct Data {
  Weights weights;
  std::vector<std::vector<float>> inputs;
  oracle::Values expected;
  std::array<double, precisions> tolerances;  // by precision
};

Data make_data(const LayerProblem& problem, std::uint64_t seed) {
  Random random(seed);
  Data data{random_weights(problem, random), random_inputs(problem, random), {}, {}};
  std::vector<oracle::Values> exact;
  for (const std::vector<float>& input : data.inputs) exact.push_back(oracle::widened(input));
  data.expected = oracle::oracle_run(problem, exact, data.weights.view());
  for (std::size_t i = 0; i < data.tolerances.size(); ++i) {
    data.tolerances[i] = oracle::tolerance(problem, exact, data.weights.view(), static_cast<Precision>(i));
  }
  return data;
}

bool bit_equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void check_outcome(const Outcome& outcome, const Data& data, const Estimate& estimate, const std::string& name) {
  const auto precision = static_cast<std::size_t>(precision_of(estimate));
  expect_close(outcome.values, data.expected, data.tolerances[precision], name);
  EXPECT_EQ(outcome.high_water, peak(estimate.memory)) << name << ": memory held is not the memory declared";
  EXPECT_TRUE(outcome.padding_is_zero) << name << ": padding channels are not zero";
  EXPECT_TRUE(outcome.surroundings_kept) << name << ": wrote outside of its output window";
  EXPECT_TRUE(outcome.inputs_kept) << name << ": wrote to its input";
}

std::string text_of(Placing placing) {
  return placing == Placing::packed ? "packed" : placing == Placing::separate ? "separate" : "in volumes";
}

void check_estimate(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate, const Data& data,
                    Device& device, std::uint64_t seed) {
  const std::string name = name_of(primitive, problem, estimate, seed);
  EXPECT_GT(estimate.time, 0.0) << name;
  for (const Placing placing : {Placing::packed, Placing::separate, Placing::volumes}) {
    const std::string where = name + ", " + text_of(placing);
    Result<std::unique_ptr<Harness>> harness =
        Harness::make(primitive, problem, estimate, data.weights.view(), device, placing, seed);
    ASSERT_TRUE(harness.has_value()) << where << ": " << harness.error().message;
    if (placing == Placing::volumes && !(*harness)->takes_volumes()) continue;
    const Result<Outcome> first = (*harness)->run(data.inputs);
    ASSERT_TRUE(first.has_value()) << where << ": " << first.error().message;
    check_outcome(*first, data, estimate, where);
    const Result<Outcome> second = (*harness)->run(data.inputs);
    ASSERT_TRUE(second.has_value()) << where << ": " << second.error().message;
    EXPECT_TRUE(bit_equal(first->values, second->values)) << where << ": a second run gave other bits";
  }
}

}  // namespace

std::string name_of(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                    std::uint64_t seed) {
  const std::string variant = to_string(estimate.variant);
  return std::string(primitive.name) + ", " + to_string(problem) + (variant.empty() ? "" : ", " + variant) + ", " +
         to_string(estimate.in) + " -> " + to_string(estimate.out) + ", ZNNI_TEST_SEED=" + std::to_string(seed);
}

void expect_close(std::span<const float> actual, const oracle::Values& expected, double tolerance,
                  const std::string& name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  double worst = -1.0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    const double error = std::isnan(difference) ? HUGE_VAL : difference;
    if (error <= worst) continue;
    worst = error;
    at = i;
  }
  EXPECT_LE(worst, tolerance) << name << ": element " << at << " is " << actual[at] << ", should be " << expected[at];
}

void check_primitive(const Primitive& primitive, const LayerProblem& problem, Device& device, std::uint64_t seed) {
  const Primitive* const one = &primitive;
  check_primitives(std::span(&one, 1), problem, device, seed);
}

void check_primitives(std::span<const Primitive* const> primitives, const LayerProblem& problem, Device& device,
                      std::uint64_t seed) {
  const Result<void> sound = check(problem);
  ASSERT_TRUE(sound.has_value()) << sound.error().message;
  const Data data = make_data(problem, seed);
  for (const Primitive* primitive : primitives) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, device.spec());
    ASSERT_TRUE(estimates.has_value()) << primitive->name << ", " << to_string(problem) << ": "
                                       << estimates.error().message;
    for (const Estimate& estimate : *estimates) check_estimate(*primitive, problem, estimate, data, device, seed);
  }
}

}  // namespace znni::test
