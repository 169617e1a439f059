// The works of one step of training, in the order in which they run: forward, the loss, backward. How each is computed
// is not chosen yet. A value is kept for the backward works that read it. Where several nodes read a value, the
// gradients that they make are added in the order in which they are made. What reads padding reads a copy of the value
// that has it; the copy is kept if its reader's gradient reads it. A convolution or addition computes the
// activation behind it, if that is its only reader and has a slope that follows from its output.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/network/network.hpp"
#include "primitives/core/gradient.hpp"

namespace znni {

// What is given to the caller's loss: [f][n], in a dense tensor of its own unless the output is one fragment.
struct LossProblem {
  Shape5 output;  // fragments counted by S
  Shape5 dense;   // S = 1

  auto operator<=>(const LossProblem&) const = default;
};

// A value with voxels around it, which readers take for padding; or the gradient of the value, given that of both.
struct PadProblem {
  Shape5 in;  // without padding
  Border around;
  OutsideKind kind = OutsideKind::zero;
  bool is_gradient = false;

  bool operator==(const PadProblem&) const = default;
};

// Returns the shape with padding.
[[nodiscard]] Shape5 padded_shape(const PadProblem& pad);

using StepProblem = std::variant<LayerProblem, GradientProblem, LossProblem, PadProblem>;

// A value, what an activation is applied to, or a gradient of one.
struct StepTensor {
  std::string name;
  Shape5 shape;
};

struct StepWork {
  int node = -1;  // -1: the loss
  StepProblem problem;
  std::vector<int> reads;      // tensors, in the order of the problem's inputs; of a gradient as GradientViews has them
  int writes = -1;             // tensor; -1: the gradients of the node's weights alone
  bool is_recomputed = false;  // a forward work that the backward run does again
};

struct StepGraph {
  std::vector<StepTensor> tensors;  // [0] is the input
  std::vector<StepWork> works;
  int output = 0;           // tensor that the loss reads
  int output_gradient = 0;  // tensor that it writes
};

// Returns the works of one pass of the geometry, which must be of this network, for one patch. Along axes that are
// closed values are padded as those of a whole volume are. Requires check_trainable().
[[nodiscard]] StepGraph make_step_graph(const Network& network, const Geometry& geometry);

// Returns the work that does two works at once, one right behind the other: the gradients of a convolution's weights,
// then of its input. Nothing for others.
[[nodiscard]] std::optional<StepWork> both_gradients(const StepWork& first, const StepWork& second);

// Returns the tensors that the work reads or writes, each once, in this order.
[[nodiscard]] std::vector<int> tensors_of(const StepWork& work);

}  // namespace znni
