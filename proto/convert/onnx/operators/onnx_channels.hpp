// Copies of channels: what Slice and Split keep of axis 1, and what Pad puts around it and around space.
#pragma once

#include <vector>

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Says which channels of a value are copied, `step` apart, and how many channels of zeros stand around them.
struct ChannelCopy {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t zeros_before = 0;
  std::int64_t zeros_behind = 0;
  std::int64_t step = 1;
};

// Appends a convolution of one tap that copies the channels, as a part of the node, and returns its value. It includes
// `pads` voxels of zeros around space. The copies are exact. Fails if it would have more parameters than the net may
// have.
[[nodiscard]] Result<int> append_copy(const OnnxNode& node, OnnxBuilder& builder, int value, const ChannelCopy& copy,
                                      const Border& pads = {});

// Returns the extents of the outputs of a Split, along an axis of n channels or voxels; above 0, and n in all.
[[nodiscard]] Result<std::vector<std::int64_t>> sizes_of_split(const OnnxNode& node, const OnnxBuilder& builder,
                                                               std::int64_t n);

// Converts a Split of channels, or notes one of space (proto/convert/onnx/operators/onnx_planes.hpp).
[[nodiscard]] Result<void> convert_split(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
