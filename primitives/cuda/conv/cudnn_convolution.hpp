// One convolution as an operation graph of cuDNN. Built and checked without a GPU.
#pragma once

#include <vector>

#include "primitives/core/problem.hpp"
#include "primitives/cuda/conv/cudnn_descriptor.hpp"

namespace znni::cuda {

// plain: the convolution alone. fused: bias and activation (none or relu) with it, no residual. swapped: the same sums
// as the gradient of another convolution with respect to its data. That has the kernels turned and their channels
// swapped, and pads of dilation (k - 1): other engines take part in that. It needs a convolution without strides and
// groups. The library sees groups by the channels of kernels: f / groups.
enum class CudnnForm { plain, fused, swapped };

// Bytes: engines gain nothing from more.
inline constexpr std::int64_t max_alignment = 16;
// Returns the alignment of what begins at `offset` bytes: the largest power of two, up to that of the tensor.
[[nodiscard]] std::int64_t alignment_at(std::int64_t offset);

// A convolution as a graph computes it: 64-bit extents, and strides as given. Kernels and bias begin at multiples of 16
// bytes.
struct CudnnConvolution {
  ConvProblem conv;
  Format in;   // of one element type; planar or channels last
  Format out;  // of the same
  Strides in_strides;
  Strides out_strides;
  CudnnForm form = CudnnForm::plain;
  std::int64_t in_alignment = max_alignment;  // bytes
  std::int64_t out_alignment = max_alignment;
};
// Returns the convolution with tensors of `format` that begin at multiples of 16 bytes; of these, what lies behind
// conv.before.
[[nodiscard]] CudnnConvolution declared_convolution(const ConvProblem& conv, Format format, CudnnForm form);

// Returns true if `form` computes all of `conv`; if not, bias, residual and activation are left to the caller.
[[nodiscard]] bool ends_convolution(const ConvProblem& conv, CudnnForm form);
// Returns true if the form `fused` exists for `conv`.
[[nodiscard]] bool can_fuse(const ConvProblem& conv);

// Names of the graph's tensors in an execution.
enum class CudnnTensor : std::int64_t { in = 1, kernels = 2, out = 3, bias = 4 };

// A finalised graph and the descriptors that it is made of. `handle`: for plans that are to run; without one the graph
// is good for plans of a described device.
struct CudnnGraph {
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor graph;
};
[[nodiscard]] Result<CudnnGraph> make_graph(const CudnnConvolution& convolution, cudnnHandle_t handle = nullptr);

// Returns kernels [f_out][f / groups][k.z][k.y][k.x] in the order that the graph reads: for channels last, channels
// innermost; for the swapped form turned about all axes, and with channels swapped.
[[nodiscard]] std::vector<float> arranged_kernels(const CudnnConvolution& convolution, std::span<const float> kernels);

}  // namespace znni::cuda
