// How far a primitive may be from the oracle: a function of the problem and the data, so that no
// test types an epsilon.
#pragma once

#include <span>

#include "primitives/core/precision.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// Largest allowed absolute difference of any output element.
//
// Convolution: eps * (steps * most + max|bias|), eps = 2^-24, terms = f k.z k.y k.x,
//   most  = max|in| * max over j of sum|kernel_j| + max|bias|, the largest value the sum can take,
//   steps = 4 + sqrt(terms) / 4 + 2 log2(voxels(n)).
// Roundings of a sum, in any order, walk like the root of its terms; a transform adds an error that grows
// with the logarithm of its extent (Higham, Accuracy and Stability of Numerical Algorithms, 24.1). The
// activation multiplies this by its steepest slope and adds its own rounding.
// Average pooling, additions, softmax: the same with their own terms. Max pooling, concatenation, reorder: 0.
//
// Of a coarser precision, beside that, u (1 + 5 s most): u = 2^-8 (bf16) or 2^-10 (TF32, whose bits a library may cut
// off rather than round), s the activation's steepest slope, at least 1. Inputs, weights, bias and output are rounded
// once each, by no more than u of a value that is no more than `most` before the activation, and s most, or 1, behind.
[[nodiscard]] double tolerance(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                               Precision precision = Precision::fp32);

// In float32, of such outputs as read nothing larger than `largest`, one absolute value for each input.
[[nodiscard]] double tolerance_within(const LayerProblem& problem, std::span<const double> largest,
                                      const LayerWeights& weights);

// How far outputs are off, without any rounding, that are made of inputs as far off as `errors`, one for each.
[[nodiscard]] double carried(const LayerProblem& problem, std::span<const double> errors, const LayerWeights& weights);

// How far all outputs are off together, of layers in one precision coarser than float32 or of nets of them. The
// tolerance above is of roundings that all push one way, so wide that bf16 stays within TF32's. But roundings to
// nearest push either way, and their sum walks like the root of their count, here two for each layer. One is less than
// half of u = 2^-8 (bf16) or 2^-11 (TF32) in root mean square; stored tensors and outputs that cancel come to less than
// the other half. So unit() is below u, and bf16's eight times as far as TF32's.
class Walk {
 public:
  // Outputs behind `layers` of that precision.
  void add(std::int64_t layers, std::span<const float> found, const Values& exact);
  // What one rounding comes to, of its value.
  [[nodiscard]] double unit() const;

 private:
  double off_ = 0;  // sums of squares: of how far outputs are off, per rounding
  double all_ = 0;  // of the outputs
};

}  // namespace znni::oracle
