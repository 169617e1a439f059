// Writes answers of the protocol as JSON.
#pragma once

#include <string>
#include <string_view>

#include "proto/inference.pb.h"

namespace znni::rest {

[[nodiscard]] std::string error_text(std::string_view message);                 // {"error": ...}
[[nodiscard]] std::string live_text();                                          // {"live": true}
[[nodiscard]] std::string ready_text(bool ready);                               // {"ready": ...}
[[nodiscard]] std::string model_ready_text(std::string_view name, bool ready);  // {"name": ..., "ready": ...}
[[nodiscard]] std::string to_text(const inference::ServerMetadataResponse& metadata);
[[nodiscard]] std::string to_text(const inference::ModelMetadataResponse& metadata);

// Holds the text before and behind the voxels of an answer.
struct InferText {
  std::string head;
  std::string tail;
};

// Returns the text of a response with at most one output. If `binary`, its voxels follow the text, which tells their
// size. Else they stand in it as numbers, between head and tail, unless they went to shared memory.
[[nodiscard]] InferText infer_text(const inference::ModelInferResponse& response, bool binary);

}  // namespace znni::rest
