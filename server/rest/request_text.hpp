// Reads the JSON of an inference request into a message, all but the voxels: those are found and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"

namespace znni::rest {

// Says where the voxels of one input are.
struct InputPlace {
  std::optional<std::int64_t> binary_bytes;  // its binary_data_size: it stands behind the JSON
  bool has_data = false;                     // its numbers stand in the JSON, in the array:
  std::size_t begin = 0;                     // first byte of the array
  std::size_t end = 0;                       // behind its last byte
  std::int64_t values = 0;                   // numbers in it
};

struct RequestText {
  // Lacks the model, the voxels, and the parameters of the binary extension.
  inference::ModelInferRequest message;
  std::vector<InputPlace> inputs;                   // as many as the message has
  std::vector<std::optional<bool>> outputs_binary;  // binary_data of each requested output
  bool binary_output = false;                       // binary_data_output
};

// Bounds each list: of inputs, of outputs, of parameters, of dimensions.
inline constexpr int max_listed = 64;

// Reads the object `json`, and passes over keys that the protocol does not have. Fails with invalid_argument, naming
// the key, for a value of the wrong kind, a key that comes twice, or a list that is too long; else the errors of
// walk_json().
[[nodiscard]] Result<RequestText> read_request_text(std::string_view json);

}  // namespace znni::rest
