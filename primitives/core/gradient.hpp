// Gradients of layers, for training: what a network's loss would change by, per element of a layer's input, kernels,
// bias or slopes, given the same per element of its output. They are problems and primitives of their own. No plan,
// search or server looks at them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "primitives/core/primitive.hpp"

namespace znni {

// `both`: of input 0 and of the weights of a convolution, by one call.
enum class GradientOf { input, weights, both };

// The gradient of one input of a layer, or of its weights: kernels and bias, slopes, or scales and shifts. A gradient
// is a tensor. That of an input has the input's shape. That of kernels has S = f_out, f = f / groups and n = k, in the
// order of LayerWeights::kernels; that of slopes or scales S = 1, f and n = 1, as LayerWeights::scale has them. A
// convolution or an addition has no activation here, because the gradient of an activation is a problem of its own.
struct GradientProblem {
  LayerProblem layer;
  GradientOf of = GradientOf::input;
  int input = 0;  // number of the input; 0 for weights and for both

  auto operator<=>(const GradientProblem&) const = default;
};

// The tensor of the forward run that a gradient reads beside the gradient of the output; that of a divisor reads the
// quotient, too (reads_result()).
enum class SavedValue { none, input, output };

// Returns which value the gradient reads. It is the layer's output if that suffices, because the next layer reads it
// too: for softmax and for activations that do not fall (a relu's slope is 1 where the output is above 0). It is an
// input for the weights of a convolution, products, quotients, rectifiers with slopes and other activations. So it is
// for max poolings and averages of what lies inside. Requires check(problem).
[[nodiscard]] SavedValue saved_value(const GradientProblem& problem);
// Returns the number of that input: of a product the one that multiplies, of a quotient the divisor, else 0.
[[nodiscard]] int saved_input(const GradientProblem& problem);
// Returns whether the gradient reads the layer's output beside a saved input: that of a divisor does.
[[nodiscard]] bool reads_result(const GradientProblem& problem);

// Returns the shape of the gradient; for both that of the input's. Requires check(problem).
[[nodiscard]] Shape5 gradient_shape(const GradientProblem& problem);
// Returns the shape of the gradient of the weights of a layer that has weights.
[[nodiscard]] Shape5 weights_shape(const LayerProblem& layer);
// Returns the shape of the saved value; that of the output if there is none.
[[nodiscard]] Shape5 saved_shape(const GradientProblem& problem);

// Voxels of a max pooling's window, at most, so that a byte says which of them is the largest.
inline constexpr std::int64_t max_pooled_voxels = 256;

// Fails if the layer is impossible, has no gradient here, or has an activation besides; if it has no such input or no
// weights; or if both are asked of what is no convolution. Convolutions, poolings, activations, rectifiers with slopes,
// scales and shifts, additions, products, quotients, concatenations, crops, (log-)softmax and upsamplings have
// gradients. Upsamplings that align corners, fragments of averages of what lies inside, and max poolings of more than
// max_pooled_voxels have none.
[[nodiscard]] Result<void> check(const GradientProblem& problem);

// Returns "gradient of the weights: conv ...", "gradient of input 0: conv ...", "gradient of input 0 and the weights:
// ...".
[[nodiscard]] std::string to_string(const GradientProblem& problem);

// The tensors of one run. Views have the formats of the estimate: `in` for those that are read, `out` for the gradient.
struct GradientViews {
  TensorView output;    // gradient of the layer's output; padding channels of a blocked one are zeros
  TensorView saved;     // saved_value(); not used if there is none
  TensorView gradient;  // written; every element; for both that of the input
  // Written for the kernels of a convolution, [f_out], and for scales, [f]: the gradient of the shifts. Empty if there
  // are none, and for others.
  std::span<float> bias;
  TensorView weights = {};  // for both: the gradient of the kernels, planar; written, every element
  TensorView result = {};   // the layer's output, if reads_result()
};

// Names of the buffers of the tensors, which an arena takes for its caller's: the first three are inputs. For both, the
// gradients of kernels and bias have the last name.
inline constexpr std::string_view output_gradient_name = "input 0";
inline constexpr std::string_view saved_value_name = "input 1";
inline constexpr std::string_view result_name = "input 2";
inline constexpr std::string_view gradient_name = output_name;
inline constexpr std::string_view weights_gradient_name = "output 1";

// Declares the tensors of a run by the names above, alive in the only stage. The gradients of kernels and bias are one
// buffer, the bias behind the kernels.
[[nodiscard]] MemoryPlan gradient_buffers(const GradientProblem& problem, Format in, Format out);

// A gradient that is ready to run. Not thread safe: one run() at a time.
class PreparedGradient {
 public:
  virtual ~PreparedGradient() = default;

  // Computes the gradient. The kernels are those that the caller's memory holds now: they change in every step of a
  // training. The rules of PreparedLayer::run() hold. The same tensors give bit-equal gradients with any number of
  // workers.
  virtual Result<void> run(const GradientViews& views, Arena& arena) = 0;
};

// A row of a back end's table of gradients. To add one: one source file, one line in the list GRADIENTS of the folder's
// CMakeLists.txt, one test.
struct GradientPrimitive {
  std::string_view name;  // "cpu.grad.direct"
  int version = 1;        // must be raised when its speed, memory or rounding changes
  DeviceKind device = DeviceKind::cpu;

  // Returns all legal ways to compute the gradient, or one refusal with the reason. `problem` has passed check(). The
  // estimates have the formats of GradientViews and declare its tensors and the scratch.
  Result<std::vector<Estimate>> (*describe)(const GradientProblem& problem, const DeviceSpec& spec);

  // Builds `chosen`, which describe() returned for the same problem and device. `weights` belong to the caller and must
  // outlive the result.
  Result<std::unique_ptr<PreparedGradient>> (*prepare)(const GradientProblem& problem, const Estimate& chosen,
                                                       const LayerWeights& weights, Arena& persistent, Device& device);
};

// Returns an error like "cpu.grad.pool computes gradients of poolings, not: gradient of input 0: conv 1x80x...".
[[nodiscard]] Error refusal(std::string_view primitive, std::string_view computes, const GradientProblem& problem);

}  // namespace znni
