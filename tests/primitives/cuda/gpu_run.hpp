// Runs one primitive of the CUDA back end on a GPU: transient buffers packed in one block, poisoned before each run,
// all in device memory; tensors of any element type.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"
#include "primitives/cuda/device/cuda_device.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {

// Random data for a problem, and what the oracle, which takes longer than a GPU, makes of it.
struct GpuCase {
  LayerProblem problem;
  std::uint64_t seed = 1;
  test::Weights weights;
  std::vector<std::vector<float>> inputs;
  oracle::Values expected;
  double tolerance = 0;
  std::vector<Vec3> starts;  // of a stack's inputs, as PreparedLayer::place() takes them
  Vec3 whole;
};
// A stack lies at random places, or within its value: one of two seeds each.
[[nodiscard]] GpuCase make_case(const LayerProblem& problem, std::uint64_t seed);

// Runs `estimate` twice. The runs must agree in every bit; dense planar floats in and out.
[[nodiscard]] Result<std::vector<float>> run_twice(const Primitive& primitive, const GpuCase& of,
                                                   const Estimate& estimate, CudaDevice& device);

// Runs the case through every estimate of `primitive`, compared strictly if all is float32, and by the norm of the
// difference if products are rounded.
void check_on_gpu(const Primitive& primitive, const GpuCase& of, CudaDevice& device);

}  // namespace znni::cuda
