// Layers of Caffe that change extents: convolutions, poolings and crops. And what all layers share.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"
#include "proto/convert/caffe/caffe_model.hpp"

namespace znni {

// Adds a node that is refused in place of the layer. `what` says, behind the layer's type, what is not supported.
[[nodiscard]] Result<void> not_read(const CaffeLayer& layer, CaffeModel& model, const std::string& what);
// Returns such words for an axis that a layer works along.
[[nodiscard]] std::string of_axis(std::int64_t axis);
// Returns the axis counted from the front.
[[nodiscard]] std::int64_t from_front(std::int64_t axis, const CaffeModel& model);

[[nodiscard]] Result<void> convert_convolution(const CaffeLayer& layer, CaffeModel& model);
[[nodiscard]] Result<void> convert_deconvolution(const CaffeLayer& layer, CaffeModel& model);
// Rounds extents up, if windows do not divide those of the input evenly.
[[nodiscard]] Result<void> convert_pooling(const CaffeLayer& layer, CaffeModel& model);
// Notes the extents of blobs of which nothing else is read.
[[nodiscard]] Result<void> convert_dummy(const CaffeLayer& layer, CaffeModel& model);
// Crops to the extents of the second blob, whatever the volume is.
[[nodiscard]] Result<void> convert_crop(const CaffeLayer& layer, CaffeModel& model);

}  // namespace znni
