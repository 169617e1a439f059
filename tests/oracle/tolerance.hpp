// Tolerances of primitives against the oracle, computed from the problem and the data. No test contains a hand-written
// epsilon.
#pragma once

#include <span>

#include "primitives/core/precision.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// Returns the largest allowed absolute difference of any output element.
//
// Convolution: eps * (steps * most + max|bias|), eps = 2^-24, terms = f k.z k.y k.x,
//   most  = max|in| * max over j of sum|kernel_j| + max|bias|, the largest value the sum can take,
//   steps = 4 + sqrt(terms) / 4 + 2 log2(voxels(n)).
// The rounding error of a sum, in any order, grows like the root of its number of terms. A transform adds an error that
// grows with the logarithm of its extent (Higham, Accuracy and Stability of Numerical Algorithms, 24.1). The activation
// multiplies this by its steepest slope and adds its own rounding. Average pooling, additions, softmax: the same with
// their own terms. Max pooling, concatenation, reorder: 0.
//
// A coarser precision adds u (1 + 5 s most). Here u is 2^-8 (bf16) or 2^-10 (TF32, because a library may cut bits off
// rather than round), and s is the activation's steepest slope, at least 1. Inputs, weights, bias and output are
// rounded once each, by at most u times the value. That value is at most `most` before the activation, and at most s
// most, or 1, after it.
[[nodiscard]] double tolerance(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                               Precision precision = Precision::fp32);

// Returns the values of an input whose sizes bound the error: those of the input itself, of a divisor the reciprocals.
[[nodiscard]] Values sized(const LayerProblem& problem, std::size_t input, const Values& values);

// Returns the float32 tolerance of outputs that read no value of sized() larger than `largest`, one absolute value for
// each input.
[[nodiscard]] double tolerance_within(const LayerProblem& problem, std::span<const double> largest,
                                      const LayerWeights& weights);

// Returns the largest error of outputs whose inputs have the errors `errors`, one for each input, without any rounding.
[[nodiscard]] double carried(const LayerProblem& problem, std::span<const double> errors, const LayerWeights& weights);

// Joint error of all outputs, for layers in one precision coarser than float32 or for nets of them. tolerance() assumes
// that all roundings push one way, so it is too wide to tell bf16 from TF32. Roundings to nearest push either way, so
// their sum grows like the root of their number, here two for each layer. In root mean square one rounding is less than
// half of u = 2^-8 (bf16) or 2^-11 (TF32). Stored tensors and outputs that cancel add less than the other half. So
// unit() is below u, and that of bf16 is eight times that of TF32.
class Walk {
 public:
  // Adds outputs after `layers` layers of that precision.
  void add(std::int64_t layers, std::span<const float> found, const Values& exact);
  // Returns the relative error of one rounding.
  [[nodiscard]] double unit() const;

 private:
  double off_ = 0;  // sum of squares of the outputs' errors, per rounding
  double all_ = 0;  // sum of squares of the outputs
};

}  // namespace znni::oracle
