// Describes the daemon's models: metadata, configuration, statistics, index. Pure functions from facts to
// messages.
#pragma once

#include <cstdint>

#include "proto/inference.pb.h"
#include "server/jobs/model_server.hpp"

namespace znni::rpc {

// Limits a client needs to know before it sends.
struct WireLimits {
  std::int64_t max_request_bytes = 0;  // voxels in one ModelInfer message
  std::int64_t max_response_bytes = 0;
  std::int64_t max_chunk_bytes = 0;  // voxels in one chunk of the Volumes stream
};

// Describes the tensors of a model. Shapes are [-1,C,-1,-1,-1] ([-1,C,-1,-1] for 2D nets, [-1,C,-1] for 1D ones).
// `versions` are all versions of that name.
[[nodiscard]] inference::ModelMetadataResponse describe_metadata(const ModelInfo& model,
                                                                 const std::vector<std::string>& versions,
                                                                 const WireLimits& limits);
// Describes the configuration of a model. max_batch_size is 0: clients then leave the first dimension of the shape
// alone.
[[nodiscard]] inference::ModelConfig describe_config(const ModelInfo& model);
[[nodiscard]] inference::ModelStatistics describe_statistics(const ModelInfo& model, const ModelStatistics& counted);
[[nodiscard]] inference::RepositoryIndexResponse::ModelIndex describe_index(const ModelInfo& model);

}  // namespace znni::rpc
