// One convolution computed by oneDNN (2.6): direct, in channel-blocked layout, with bias, residual and activation
// fused. This thin layer turns the library's exceptions into errors and limits its threads. oneDNN is built on OpenMP,
// so it uses its own threads and not those of the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// During its lifetime, parallel regions that the calling thread opens have `threads` threads.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads);
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

class OnednnConvolution {
 public:
  // Returns whether the library's code computes activations of this kind. It has products of x and a factor, too, but
  // they are NaN where x is -infinity. The caller applies those to what is written.
  [[nodiscard]] static bool fuses(ActivationKind kind);

  // Describes a convolution; generates no code and allocates only a few objects. Tensors are dense; `out` is blocked. A
  // blocked input is read with all channels of its blocks, and the weights of padding channels are zero. If the input
  // is in bf16, in blocks of 16, weights are rounded to bf16, too; the output is in float32. Fails with unsupported if
  // the library has only reference code for it, in bf16 also if it has only code for matrix units. Fails with the
  // library's message if it rejects the problem.
  [[nodiscard]] static Result<OnednnConvolution> describe(const ConvProblem& problem, Format in, Format out,
                                                          int threads);
  // Describes a convolution that uses the weights reordered by `other`, which differs only in the input's extent.
  [[nodiscard]] static Result<OnednnConvolution> describe_like(const OnednnConvolution& other,
                                                               const ConvProblem& problem);

  [[nodiscard]] std::int64_t weights_bytes() const;
  [[nodiscard]] std::int64_t workspace_bytes() const;  // 0 if it needs none
  [[nodiscard]] std::string implementation() const;    // "jit:avx512_core"

  // Generates the code. Must be called once, before run().
  Result<void> build();

  // Converts kernels [f_out][f][k.z][k.y][k.x] to the library's layout: weights_bytes() bytes at `to`.
  Result<void> reorder_weights(const float* kernels, std::byte* to) const;

  // Tensors of one run: dense, in the described formats; bias has f_out elements. `residual` has the output's format
  // and is used only if the problem has one. With an input in bf16 `out` holds the residual instead.
  struct Operands {
    const void* in = nullptr;
    const float* residual = nullptr;
    const std::byte* weights = nullptr;
    const float* bias = nullptr;
    float* out = nullptr;
    std::byte* workspace = nullptr;
  };
  Result<void> run(const Operands& operands) const;

 private:
  OnednnConvolution(const ConvProblem& problem, Format in, Format out, int threads);
  // Creates the description with the given weights layout; nullptr lets the library choose the layout.
  Result<void> create(const dnnl_memory_desc_t* weights);
  // Goes on to the code for AVX512_BF16, or to the last that the library has.
  void find_bf16_code();
  [[nodiscard]] Result<void> refuse_reference_code() const;

  ConvProblem problem_;
  Format in_;
  Format out_;
  int threads_;
  dnnl::engine engine_;
  dnnl::convolution_forward::primitive_desc description_;
  std::optional<dnnl::convolution_forward> primitive_;
};

}  // namespace znni::cpu
