// How a convolution whose tensors lie in host RAM is cut in sub-layers for a GPU (ZNNi section VII.A), and, beyond the
// paper, in slabs along z with a halo of dilation * (k - 1) planes.
#pragma once

#include <cstdint>

namespace znni {

// Most of each that one sub-layer takes; 0: all.
struct Division {
  std::int64_t S = 0;      // inputs
  std::int64_t f = 0;      // input images: partial sums stay on the GPU; divides the layer's
  std::int64_t f_out = 0;  // output images
  std::int64_t slab = 0;   // z planes of the output
  bool operator==(const Division&) const = default;
};

}  // namespace znni
