// Runs one primitive as the engine does. pack() lays out input, output and scratch in one block, persistent buffers are
// filled at prepare, and the arena poisons the buffers that it grants. In separate mode every buffer has its own
// allocation, so that the address sanitizer sees its ends, and tensors are strided windows with guarded surroundings.
// In the mode of volumes planar tensors have their own allocations, too, and lie there as volumes do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

enum class Placing { packed, separate, volumes };

struct Outcome {
  std::vector<float> values;      // dense planar
  std::int64_t high_water = 0;    // of the arena
  bool padding_is_zero = true;    // of a blocked output
  bool surroundings_kept = true;  // no element around a strided output was written
  bool inputs_kept = true;        // no element of an input was written
};

// A prepared layer with its memory.
class Harness {
 public:
  // Prepares the layer; `weights` must outlive the harness.
  [[nodiscard]] static Result<std::unique_ptr<Harness>> make(const Primitive& primitive, const LayerProblem& problem,
                                                             const Estimate& estimate, const LayerWeights& weights,
                                                             Device& device, Placing placing, std::uint64_t seed = 1);
  ~Harness();

  // Runs the layer; inputs are dense planar. May be called repeatedly.
  [[nodiscard]] Result<Outcome> run(std::span<const std::vector<float>> inputs);

  [[nodiscard]] bool takes_volumes() const;

  // Says where inputs lie, as PreparedLayer::place() does.
  void place(std::span<const Vec3> starts, Vec3 whole) { layer_->place(starts, whole); }

 private:
  struct Memory;
  Harness();
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<PreparedLayer> layer_;
};

// Runs the layer once, separately placed or packed. An error becomes a test failure and an empty outcome.
[[nodiscard]] Outcome run_once(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                               const LayerWeights& weights, std::span<const std::vector<float>> inputs, Device& device,
                               Placing placing = Placing::packed, std::uint64_t seed = 1);

// Runs random data from `seed` through every estimate of `primitive` for `problem`, packed and separate and, if it
// takes volumes, in those, and compares with the oracle. Also checks the declared peak, padding, surroundings and
// repeatability. Failures are GoogleTest failures that name primitive, problem, variant, formats and seed. A refusal is
// a failure here.
void check_primitive(const Primitive& primitive, const LayerProblem& problem, Device& device, std::uint64_t seed);

// Does so for several primitives, with the same data, whose result the oracle computes once.
void check_primitives(std::span<const Primitive* const> primitives, const LayerProblem& problem, Device& device,
                      std::uint64_t seed);

// Expects that the largest difference is within `tolerance` (oracle::tolerance()); a NaN always fails.
void expect_close(std::span<const float> actual, const oracle::Values& expected, double tolerance,
                  const std::string& name);

// Returns the text that a failure prints: "cpu.conv.direct, conv ..., tile=24, f32:planar -> f32:planar,
// ZNNI_TEST_SEED=7".
[[nodiscard]] std::string name_of(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                                  std::uint64_t seed);

}  // namespace znni::test
