// Runs one primitive the way the engine does: input, output and scratch laid out in one block by pack(),
// persistent buffers filled at prepare, an arena that poisons what it grants. In separate mode every buffer
// is an allocation of its own (so that the address sanitizer sees its ends) and tensors are strided windows
// with guarded surroundings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

enum class Placing { packed, separate };

struct Outcome {
  std::vector<float> values;      // dense planar
  std::int64_t high_water = 0;    // of the arena
  bool padding_is_zero = true;    // of a blocked output
  bool surroundings_kept = true;  // nothing around a strided output was written
};

// A prepared layer with its memory.
class Harness {
 public:
  // `weights` must outlive the harness.
  [[nodiscard]] static Result<std::unique_ptr<Harness>> make(const Primitive& primitive, const LayerProblem& problem,
                                                             const Estimate& estimate, const LayerWeights& weights,
                                                             Device& device, Placing placing, std::uint64_t seed = 1);
  ~Harness();

  // Inputs are dense planar; may be called again and again.
  [[nodiscard]] Result<Outcome> run(std::span<const std::vector<float>> inputs);

 private:
  struct Memory;
  Harness();
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<PreparedLayer> layer_;
};

// One run, separately placed or packed; an error becomes a test failure and an empty outcome.
[[nodiscard]] Outcome run_once(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                               const LayerWeights& weights, std::span<const std::vector<float>> inputs, Device& device,
                               Placing placing = Placing::packed, std::uint64_t seed = 1);

// Random data from `seed` through every estimate of `primitive` for `problem`, in both placings, compared
// with the oracle; also: declared peak, padding, surroundings, repeatability. Failures are GoogleTest
// failures that name primitive, problem, variant, formats and seed. A refusal is a failure here.
void check_primitive(const Primitive& primitive, const LayerProblem& problem, Device& device, std::uint64_t seed);

// The largest difference is within `tolerance` (oracle::tolerance); NaNs never are.
void expect_close(std::span<const float> actual, const oracle::Values& expected, double tolerance,
                  const std::string& name);

// "cpu.conv.direct, conv ..., tile=24, f32:planar -> f32:planar, ZNNI_TEST_SEED=7": what a failure prints.
[[nodiscard]] std::string name_of(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                                  std::uint64_t seed);

}  // namespace znni::test
