// Gradients of layers in float64, by the chain rule and plain loops over the definitions in
// primitives/core/problems. A gradient that disagrees with them is wrong.
#pragma once

#include <span>
#include <vector>

#include "tests/oracle/oracle.hpp"

namespace znni::oracle {

// Derivatives of a number that depends on a layer's output alone.
struct Gradients {
  std::vector<Values> inputs;  // of each input in order, of its shape
  Values kernels;              // [f_out][f / groups][k.z][k.y][k.x]; empty if the layer has none
  Values bias;                 // [f_out], or [f] of shifts; empty if the layer has neither kernels nor shifts
  Values scale = {};           // [f], of slopes or scales; empty if the layer has none
};

// Returns the gradients of a convolution, pooling, activation, rectifier with slopes, scale and shift, addition,
// product, quotient, concatenation, crop, upsampling, softmax or log-softmax. Stops the program for other layers.
// `output` is the derivative by each element of the output. A convolution's and an addition's own activation counts. If
// maxima of a window are equal, the first in the order z, y, x has the derivative.
[[nodiscard]] Gradients gradients(const LayerProblem& problem, std::span<const Values> inputs,
                                  const LayerWeights& weights, const Values& output);

// Returns the derivative of an activation at x. At a kink it is that of the smaller values: 0 for a relu at 0, alpha
// for a leaky relu.
[[nodiscard]] double slope_exactly(Activation activation, double x);

}  // namespace znni::oracle
