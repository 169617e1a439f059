// Reads the two files of a Caffe network: layers as text, NET.prototxt, and their numbers, NET.caffemodel. Unknown
// fields that only training reads, and those of layers that are not read, are skipped. Files of the format before 2015
// are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "primitives/core/result.hpp"
#include "proto/caffe.pb.h"

namespace znni {

// Parses the text. Leaves the layers that the network has when it is tested, by their rules `include` and `exclude`.
// The error names the line.
[[nodiscard]] Result<caffe::NetParameter> parse_caffe_net(std::string_view text);

// Reads the numbers. Fails with over_budget, before it reads, if the file is larger than any that holds
// `max_weight_bytes` of float32. Every error begins with the path.
[[nodiscard]] Result<caffe::NetParameter> read_caffe_numbers(const std::string& path, std::int64_t max_weight_bytes);

// Returns the name of the file with the numbers of a network: NET.caffemodel of NET.prototxt.
[[nodiscard]] std::string caffe_numbers_beside(const std::string& path);

}  // namespace znni
