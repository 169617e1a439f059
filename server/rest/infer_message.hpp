// Makes the body of an inference request over HTTP into the message that gRPC would have brought.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"

namespace znni::rest {

struct InferBody {
  std::string json;
  std::string binary;  // behind the JSON
};

struct InferMessage {
  std::unique_ptr<inference::ModelInferRequest> request;  // voxels raw; without the model's name and version
  bool binary_output = false;                             // the answer's voxels go behind its JSON
};

// Moves voxels that are bytes, of several inputs copies them, and reads those that are numbers into `max_voxel_bytes`
// at most: nothing else takes memory beside the body. Fails with over_budget if they would take more. Fails with
// invalid_argument, naming the input, if their number is not that of its shape, or if an input alone has none. It also
// fails if the sizes of binary data are not those of `body`, or if FP16 comes or is to go as numbers; else the errors
// of read_request_text(). The model itself is not asked: its checks follow.
[[nodiscard]] Result<InferMessage> make_infer_message(InferBody body, std::int64_t max_voxel_bytes);

}  // namespace znni::rest
