// How far a float32 primitive may be from the oracle: a function of the problem and the data, so that no
// test types an epsilon.
#pragma once

#include <span>

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
[[nodiscard]] double tolerance(const LayerProblem& problem, std::span<const Values> inputs,
                               const LayerWeights& weights);

}  // namespace znni::oracle
