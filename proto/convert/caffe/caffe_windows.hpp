// Kernels, strides, pads and dilations of Caffe's layers: one value for all axes, one for each, or those of height and
// width.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/caffe.pb.h"

namespace znni {

// Extents of the spatial axes; none if they are not known.
using CaffeExtents = std::vector<std::int64_t>;

// One value for each spatial axis.
struct CaffeWindows {
  CaffeExtents kernel;
  CaffeExtents stride;
  CaffeExtents pad;
  CaffeExtents dilation;
};

// Returns the extents as text, 3x8x8, or "none".
[[nodiscard]] std::string extents_text(const CaffeExtents& extents);
// Fails unless each is one that a blob of Caffe may have.
[[nodiscard]] Result<void> check_extents(const CaffeExtents& extents);

// Return the windows for `rank` spatial axes. The error names the field.
[[nodiscard]] Result<CaffeWindows> windows_of(const caffe::ConvolutionParameter& parameters, int rank);
[[nodiscard]] Result<CaffeWindows> windows_of(const caffe::PoolingParameter& parameters, int rank);

// Return the extents that a layer writes of an input of extents `in`: rounded down, or up by `ceil`.
[[nodiscard]] CaffeExtents extents_after(const CaffeWindows& windows, const CaffeExtents& in, bool ceil = false);
// Returns those of a transposed convolution.
[[nodiscard]] CaffeExtents extents_before(const CaffeWindows& windows, const CaffeExtents& in);

// Returns whether windows that begin within an input of extents `in` and its pads may end behind them: rounding
// matters.
[[nodiscard]] bool has_rest(const CaffeWindows& windows, const CaffeExtents& in);

}  // namespace znni
