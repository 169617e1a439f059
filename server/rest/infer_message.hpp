// The body of an inference request over HTTP, made into the message of the protocol that gRPC brings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"

namespace znni::rest {

struct InferBody {
  std::string json;
  std::string binary;  // behind it
};

struct InferMessage {
  std::unique_ptr<inference::ModelInferRequest> request;  // voxels raw; without the model's name and version
  bool binary_output = false;                             // the answer's voxels go behind its JSON
};

// Voxels as bytes are moved, voxels as numbers read into `most_voxel_bytes` at most: beside the body nothing takes more
// memory than they do. over_budget where they would; invalid_argument, naming the input, where their number is not that
// of its shape, where the sizes of binary data are not those of `body`, or FP16 comes or is to go as numbers; else as
// read_request_text(). What the model has to say to a request is not asked here.
[[nodiscard]] Result<InferMessage> make_infer_message(InferBody body, std::int64_t most_voxel_bytes);

}  // namespace znni::rest
