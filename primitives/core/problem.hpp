// Problems: the work of one layer, as values. A problem does not say how it is computed; primitives
// (primitives/core/primitive.hpp) decide that. Each kind is in a file of its own with what holds for it
// (primitives/core/problems); the functions at the end ask there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "primitives/core/activation.hpp"
#include "primitives/core/problems/across_channels.hpp"
#include "primitives/core/problems/activation.hpp"
#include "primitives/core/problems/add.hpp"
#include "primitives/core/problems/add_volume.hpp"
#include "primitives/core/problems/attention.hpp"
#include "primitives/core/problems/concat.hpp"
#include "primitives/core/problems/conv.hpp"
#include "primitives/core/problems/conv_pool.hpp"
#include "primitives/core/problems/crop.hpp"
#include "primitives/core/problems/divide.hpp"
#include "primitives/core/problems/global_pool.hpp"
#include "primitives/core/problems/multiply.hpp"
#include "primitives/core/problems/norm.hpp"
#include "primitives/core/problems/pool.hpp"
#include "primitives/core/problems/prelu.hpp"
#include "primitives/core/problems/reorder.hpp"
#include "primitives/core/problems/scale_shift.hpp"
#include "primitives/core/problems/stack.hpp"
#include "primitives/core/problems/upsample.hpp"
#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

using LayerProblem = std::variant<ConvProblem, PoolProblem, ActivationProblem, AcrossChannelsProblem, ScaleShiftProblem,
                                  AddProblem, ConcatProblem, ReorderProblem, CropProblem, ConvPoolProblem,
                                  UpsampleProblem, NormProblem, MultiplyProblem, GlobalPoolProblem, PReluProblem,
                                  AttentionProblem, AddVolumeProblem, DivideProblem, StackProblem>;

// Parameters of one layer, borrowed: the caller must keep them longer than the prepared layer. Host memory, float32.
struct LayerWeights {
  std::span<const float> kernels;  // [f_out][f / groups][k.z][k.y][k.x]
  std::span<const float> bias;     // [f_out]; empty means zeros
  std::span<const float> scale;    // [f]; of a stack [stage][f]
  std::span<const float> shift;    // [f]; of a sum with a volume [f][z][y][x], of a stack [stage][f]
};

// Returns the problem's convolution, which uses the kernels and the bias; nullptr if it has none.
[[nodiscard]] const ConvProblem* convolution_of(const LayerProblem& problem);

// Returns whether the problem uses a scale for each channel, and a shift if it has one.
[[nodiscard]] bool has_scale(const LayerProblem& problem);
// Returns the extent of the window of which the problem makes each voxel of its output: of a pooled convolution the
// kernel's, 1 if it has none.
[[nodiscard]] Vec3 window_of(const LayerProblem& problem);

// Returns the number of tensors that the problem reads.
[[nodiscard]] int input_count(const LayerProblem& problem);
// Returns the shape of input `index` of the problem.
[[nodiscard]] Shape5 input_shape(const LayerProblem& problem, int index);
// Returns the shape that the problem writes. Requires check(problem).
[[nodiscard]] Shape5 output_shape(const LayerProblem& problem);
// Fails if the problem is impossible (extents, divisibility, unequal inputs); the error names the numbers: "n.x -
// window.x + 1 = 63 is not divisible by stride.x = 2".
[[nodiscard]] Result<void> check(const LayerProblem& problem);

// Returns the multiplications and additions of the textbook algorithm. A convolution has 2 f / groups f' k n' S, and
// one more for every voxel of its residual; a pooled convolution has those of both. The result is a double, so
// saturating arithmetic is not needed.
[[nodiscard]] double direct_flops(const LayerProblem& problem);

// Returns one line that names the work in full: "conv 1x80x48x48x48 -> 80, k 5x5x5, residual, relu". Equal lines mean
// equal work. Details that do not affect the work are left out: the alpha of a relu, an epsilon, the fragments of a
// plain pooling, planes before, a dilation or a stride of 1. A pooled convolution gives "conv ..., then max pool ...".
// Used in reports and as the key of recorded timings.
[[nodiscard]] std::string to_string(const LayerProblem& problem);

}  // namespace znni
