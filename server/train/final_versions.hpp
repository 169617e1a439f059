// Writes the weights with which a training ends as versions of its model: those of the last step and, if they are kept
// and are others, behind them those of the best validation, which a daemon then serves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "server/train/loss/logits.hpp"
#include "server/train/model_version.hpp"

namespace znni {

// A training that has done all steps.
struct EndedTraining {
  const TrainedNetwork& trained;  // with the weights of the last step
  std::filesystem::path folder;   // of the model
  InputScale scale;
  std::string training;     // Checkpoint::training
  std::int64_t steps = 0;   // all of them
  bool keeps_best = false;  // best_file() of the folder has the weights of the best validation
  bool did_steps = true;    // in this run; false: a run that was killed may have written the versions already
};

struct FinalVersions {
  std::string newest;
  std::optional<std::int64_t> best_step;  // of the newest version, if the last step's is the version before it
};

// Writes the versions that are not there yet. After a kill the same call writes the rest. Fails as
// write_model_version() and find_best() do.
[[nodiscard]] Result<FinalVersions> write_final_versions(const EndedTraining& ended);

}  // namespace znni
