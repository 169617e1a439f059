// Writes answers of the protocol as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/inference.pb.h"

namespace znni::rest {

[[nodiscard]] std::string error_text(std::string_view message);                 // {"error": ...}
[[nodiscard]] std::string live_text();                                          // {"live": true}
[[nodiscard]] std::string ready_text(bool ready);                               // {"ready": ...}
[[nodiscard]] std::string model_ready_text(std::string_view name, bool ready);  // {"name": ..., "ready": ...}
[[nodiscard]] std::string to_text(const inference::ServerMetadataResponse& metadata);
[[nodiscard]] std::string to_text(const inference::ModelMetadataResponse& metadata);

// Holds the text around the voxels of an answer: the head, the voxels of the first output, the first tail, and so on.
struct InferText {
  std::string head;
  std::vector<std::string> tails;  // one for each output whose voxels are in the response
  [[nodiscard]] std::int64_t bytes() const;
};

// Returns the text of a response. If `binary`, all voxels follow the head, which tells their sizes, and tails are
// empty. Else they stand as numbers between head and tails, unless they went to shared memory.
[[nodiscard]] InferText infer_text(const inference::ModelInferResponse& response, bool binary);

}  // namespace znni::rest
