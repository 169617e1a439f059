// One convolution as oneDNN (2.6) computes it: direct, in channel-blocked layout, bias, residual and activation fused.
// The thin layer over the library: its exceptions end here, and its threads are counted here. It is built on
// OpenMP, so its threads are its own and not those of the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// While it lives, parallel regions that the calling thread opens have `threads` threads.
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
  // Describes; generates no code and takes no more memory than a few objects. Tensors are dense, `out` is
  // blocked. A blocked input is read with all images of its blocks: the weights of padding images are zero.
  // Refuses with unsupported what the library has only reference code for, and with its own words what it
  // does not take at all.
  [[nodiscard]] static Result<OnednnConvolution> describe(const ConvProblem& problem, Format in, Format out,
                                                          int threads);
  // The same with weights that `other`, for another extent of the same images and kernels, has reordered.
  [[nodiscard]] static Result<OnednnConvolution> describe_like(const OnednnConvolution& other,
                                                               const ConvProblem& problem);

  [[nodiscard]] std::int64_t weights_bytes() const;
  [[nodiscard]] std::int64_t workspace_bytes() const;  // 0 when it needs none
  [[nodiscard]] std::string implementation() const;    // "jit:avx512_core"

  // Generates the code. Once, before run().
  Result<void> build();

  // Brings kernels [f_out][f][k.z][k.y][k.x] into the library's layout: weights_bytes() bytes at `to`.
  Result<void> reorder_weights(const float* kernels, std::byte* to) const;

  // What one run reads and writes: dense tensors of the formats described; bias has f_out elements. `residual`, of
  // the output's format, where the problem has one.
  struct Operands {
    const float* in = nullptr;
    const float* residual = nullptr;
    const std::byte* weights = nullptr;
    const float* bias = nullptr;
    float* out = nullptr;
    std::byte* workspace = nullptr;
  };
  Result<void> run(const Operands& operands) const;

 private:
  OnednnConvolution(const ConvProblem& problem, Format in, Format out, int threads);
  // With the weights of another convolution, or with the layout the library likes best.
  Result<void> create(const dnnl_memory_desc_t* weights);
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
