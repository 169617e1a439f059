// The nets of the ZNNi paper (Table III), computed on a GPU alone, layer by layer, all poolings as fragments.
#pragma once

#include <string>

#include "tests/gpu_bench/choose.hpp"

namespace znni::gpu_bench {

struct NetRun {
  std::string net = "n337";  // n337, n537, n726, n926
  Mode mode = Mode::f32;
  std::string mode_name = "f32";
  std::int64_t last = 20;      // extent of a fragment of the output
  std::size_t candidates = 4;  // timed per layer
  std::string weights;         // file of floats, kernels and bias layer by layer; empty: made up
  std::string input;           // file of floats, one channel
  std::string output;          // file written: floats, fragments x channels x voxels
};

// Times each layer's candidates, and the first two layers as one, then the whole net; prints lines. `block_bytes` of
// the budget are for tensors and scratch, the rest for weights and spectra.
[[nodiscard]] Result<void> run_net(const NetRun& run, std::int64_t block_bytes, cuda::CudaDevice& device);

// Times all estimates of all primitives for one convolution, or one that is pooled.
[[nodiscard]] Result<void> run_layer(const LayerProblem& problem, std::int64_t block_bytes, cuda::CudaDevice& device);

}  // namespace znni::gpu_bench
