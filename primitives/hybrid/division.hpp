// Division of a convolution with tensors in host RAM into sub-layers for a GPU (ZNNi section VII.A). Beyond the paper,
// also into slabs along z with a halo of dilation * (k - 1) planes.
#pragma once

#include <cstdint>

namespace znni {

// Maximum of each that one sub-layer takes; 0: all.
struct Division {
  std::int64_t S = 0;      // inputs
  std::int64_t f = 0;      // input channels; must divide the layer's; partial sums stay on the GPU
  std::int64_t f_out = 0;  // output channels
  std::int64_t slab = 0;   // z planes of the output
  bool operator==(const Division&) const = default;
};

}  // namespace znni
