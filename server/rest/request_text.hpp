// The JSON of an inference request, read into a message: all but the voxels, which are found and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"

namespace znni::rest {

// Where the voxels of one input are.
struct InputPlace {
  std::optional<std::int64_t> binary_bytes;  // behind the JSON: its binary_data_size
  bool has_data = false;                     // an array of numbers, within the JSON:
  std::size_t begin = 0;                     // its first byte
  std::size_t end = 0;                       // behind its last one
  std::int64_t values = 0;                   // of all its arrays
};

struct RequestText {
  // Without model, voxels, and the parameters of the binary extension.
  inference::ModelInferRequest message;
  std::vector<InputPlace> inputs;                   // one for each of the message's
  std::vector<std::optional<bool>> outputs_binary;  // binary_data of each requested output
  bool binary_output = false;                       // binary_data_output
};

// Inputs, outputs, parameters of each and dimensions that are read; more are refused.
inline constexpr int most_listed = 64;

// Reads the object `json`. Keys that the protocol has not are passed over. invalid_argument, naming the key, for a
// value of the wrong kind, a key that comes twice, a list that is too long; as walk_json() where it is no JSON.
[[nodiscard]] Result<RequestText> read_request_text(std::string_view json);

}  // namespace znni::rest
