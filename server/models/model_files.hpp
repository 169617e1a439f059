// Reads the files of one model: network and weights, and what its configuration says that the engine needs.
#pragma once

#include "planner/network/network.hpp"
#include "server/models/log_sink.hpp"
#include "server/models/model_repository.hpp"
#include "server/pipeline/job/window_blend.hpp"
#include "server/volume/volume_view.hpp"

namespace znni {

// The model's rule for its input: normalisation first, then, if `zscore`, the whole volume brought to mean 0 and
// deviation 1.
struct InputRule {
  Normalisation normalisation;
  bool zscore = false;
};

struct ModelFiles {
  Network network;  // an output activation of the configuration is its last node, or part of it; its window is set
  NetworkWeights weights;
  InputRule input;
  WindowBlend blend;  // of its windows, if it is bound to one
};

// Reads the files of a model; errors name the file. Refuses a network without weights: it can be planned, not served.
// Logs what the configuration has and this server does not know. Fails with `unsupported` for what it knows but cannot
// do. Fails with over_budget, before it reads the weights, if they alone take more than `max_bytes`.
[[nodiscard]] Result<ModelFiles> read_model_files(const ModelEntry& entry, const LogSink& log,
                                                  std::int64_t max_bytes = saturated);

// Returns what loading would find wrong with the files of `entry`, which may lack files. Reads network, weights and
// configuration for it, and lets them go.
[[nodiscard]] Result<void> check_model_files(const ModelEntry& entry, const LogSink& log,
                                             std::int64_t max_bytes = saturated);

}  // namespace znni
