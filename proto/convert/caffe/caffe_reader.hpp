// Reads Caffe networks: layers of NET.prototxt, numbers of NET.caffemodel. They are read as the ONNX model that
// computes the same (proto/convert/onnx/reader/onnx_reader.hpp), whose nodes have the names of the layers.
#pragma once

#include <string>
#include <string_view>

#include "planner/network/blockers.hpp"
#include "planner/network/graph_passes.hpp"
#include "proto/caffe.pb.h"
#include "proto/convert/base/network_reading.hpp"

namespace znni {

// Returns the network. Inputs are those of Input layers or of the fields `input`, which must say their extents; outputs
// the blobs that no layer reads. Poolings round their extents up, as Caffe does, unless windows divide evenly the
// extents that the inputs declare. `file` is that of the numbers, for errors. Fails as read_onnx() does.
[[nodiscard]] Result<LoadedNetwork> read_caffe(std::string_view text, caffe::NetParameter numbers,
                                               const std::string& file, const NetworkReading& reading = {},
                                               Blockers* blockers = nullptr);

// Does the same with files: `path` ends with .prototxt, and the numbers are in the file that `reading` names, or in
// that beside it which ends with .caffemodel instead. Errors begin with the path of the file that is wrong.
[[nodiscard]] Result<LoadedNetwork> read_caffe_files(const std::string& path, const NetworkReading& reading,
                                                     Blockers* blockers = nullptr);

}  // namespace znni
