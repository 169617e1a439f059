// Checks whether a ModelInfer request makes sense for a model: everything that can be known without work. Pure
// functions; every error names the model, what was found and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"
#include "server/jobs/model_server.hpp"
#include "server/rpc/messages/input_checks.hpp"
#include "server/rpc/messages/request_parameters.hpp"

namespace znni::rpc {

// An output that is asked for: channels of the model's, which follow each other.
struct RequestedOutput {
  std::string name;
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;
  std::optional<RegionRange> region;  // where it goes, if not into the message
};

// A request that may be computed. Each of the `batch` volumes is a job of its own.
struct InferRequest {
  std::int64_t batch = 1;
  VolumeShape volume;  // of one job, channel_major; 1 along axes the net lacks
  RequestParameters parameters;
  std::vector<GivenInput> inputs;        // all of the model's, in its order
  std::vector<RequestedOutput> outputs;  // at least one; all have a region, or none has
};

// Requires the model's inputs as check_inputs() does, and a request for no other outputs than the model's: for all if
// it names none.
// ModelServer::estimate() compares extents with the field of view.
[[nodiscard]] Result<InferRequest> check_infer_request(const inference::ModelInferRequest& request,
                                                       const ModelInfo& model);

// Checks that a version is "" or digits.
[[nodiscard]] Result<void> check_version(std::string_view model, std::string_view version);

}  // namespace znni::rpc
