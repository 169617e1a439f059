// ONNX Reshape as PyTorch writes GroupNorm: to [N, groups, the rest], where InstanceNormalization takes the groups for
// channels, and back; and as it writes pixel shuffles (proto/convert/onnx/operators/onnx_shuffle.hpp).
#pragma once

#include <optional>
#include <vector>

#include "proto/convert/onnx/operators/onnx_node.hpp"

namespace znni {

// Extents along all axes of a tensor; nullopt where they are not known.
using TensorExtents = std::vector<std::optional<VolumeNumber>>;

// Returns "[1, 32, n, n, n]": n for what depends on the volume or is not known.
[[nodiscard]] std::string text_of(const TensorExtents& extents);

// Returns the extents of [N][f][spatial...].
[[nodiscard]] TensorExtents extents_of(const OnnxBuilder& builder, int value);

// Returns the extents that the node asks for, of a tensor with extents `from`; -1 for at most one that it leaves open.
[[nodiscard]] Result<std::vector<VolumeNumber>> target_of(const OnnxNode& node, const OnnxBuilder& builder,
                                                          const TensorExtents& from);

// Returns whether these extents, at most one of them left open, are the given ones.
[[nodiscard]] bool asks_for(const std::vector<VolumeNumber>& target, const TensorExtents& extents);

// Notes a Reshape into groups of channels, without computation; only InstanceNormalization and a Reshape back to the
// extents before can read its output. One into voxels of channels is read by a Transpose alone. Others are refused.
[[nodiscard]] Result<void> convert_reshape(const OnnxNode& node, OnnxBuilder& builder);

}  // namespace znni
