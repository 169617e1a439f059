// Writes transposed convolutions, which a network has as a convolution to all voxels that it makes of one, and a
// shuffle of these (proto/convert/onnx_conv_transpose.hpp).
#pragma once

#include <string>

#include "planner/network/graph_edits.hpp"
#include "proto/convert/onnx/writer/onnx_message.hpp"
#include "proto/convert/onnx/writer/onnx_written_operations.hpp"

namespace znni {

// Returns the number of the shuffle that makes a transposed convolution of the convolution `number`; -1 if there is
// none. `pads`: the convolution's in the file, which must be as many as its kernel has taps beside one. No voxel may
// have a bias of its own.
[[nodiscard]] int shuffle_of(const LoadedNetwork& loaded, int number, const Border& pads);

// Appends the ConvTranspose: `conv` is written as the convolution is, but for `output`, the tensor of the shuffle.
void write_transposed(const WrittenNode& conv, Vec3 factor, OnnxMessage& message);

}  // namespace znni
