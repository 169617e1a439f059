// Tensors whose numbers an ONNX model keeps in other files (data_location EXTERNAL).
#pragma once

#include <filesystem>

#include <onnx/onnx_pb.h>

#include "primitives/core/result.hpp"

namespace znni {

// Reads such numbers into the tensors, as if they had been stored there. Only types that floats_of() reads;
// others stay as they are. `model_file`: where the model came from. Other files are looked for in its folder or
// below, by the names the model gives; a name that leads out of it, by "..", from the root or through a link, is
// an error, as is a file that is missing or too short. The error names tensor and file.
[[nodiscard]] Result<void> load_external_data(onnx::ModelProto& model, const std::filesystem::path& model_file);

}  // namespace znni
