// Checks whether the input tensors of a ModelInfer request are those that a model takes, and says where their voxels
// are. Pure functions; every error names the model, the input where there is one, what was found and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"
#include "server/jobs/model_server.hpp"
#include "server/rpc/base/shared_regions.hpp"

namespace znni::rpc {

// An input of the model: channels of its volumes, which follow each other. Its voxels are typed contents of its tensor,
// if they are neither raw nor in shared memory.
struct GivenInput {
  std::string name;
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;
  int tensor = -1;                    // number in the request's inputs
  int raw = -1;                       // number in its raw_input_contents, or -1
  std::optional<RegionRange> region;  // of the right size
};

struct GivenInputs {
  std::int64_t batch = 1;
  VolumeShape volume;  // of one job, with the channels of all inputs; channel_major; 1 along axes the net lacks
  std::vector<GivenInput> inputs;  // in the model's order
};

// Requires each input of the model once, in any order; [N,C,Z,Y,X] ([N,C,Y,X] for 2D nets, [N,C,X] for 1D ones), raw,
// typed or in shared memory, with bytes that match its shape; all of one batch, one extent and one type. Raw contents
// are those of the inputs that are not in shared memory, in the request's order.
[[nodiscard]] Result<GivenInputs> check_inputs(const inference::ModelInferRequest& request, const ModelInfo& model);

// Returns the names for errors, "'a' or 'b'", of many the first.
[[nodiscard]] std::string names_of(const std::vector<NamedTensor>& tensors);

}  // namespace znni::rpc
