// The table of Caffe's layers that are read. To add one, add a row and a function that converts its layer.
#pragma once

#include <string>
#include <string_view>

#include "primitives/core/result.hpp"
#include "proto/convert/caffe/caffe_model.hpp"

namespace znni {

// Adds the layer's nodes to the model. A layer that is not supported becomes a node that the reader of ONNX refuses;
// its operator says what is not supported. Fails with corrupt_file if the layer or its numbers are wrong.
[[nodiscard]] Result<void> convert_caffe_layer(const CaffeLayer& layer, CaffeModel& model);

// Returns whether layers of the type are read, at least in some forms.
[[nodiscard]] bool is_caffe_layer(std::string_view type);

// Returns the types of layers that are read, in a row.
[[nodiscard]] std::string caffe_layers();

}  // namespace znni
