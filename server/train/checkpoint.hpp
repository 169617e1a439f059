// What a training continues from: a file that has all of it, or is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "planner/network/network.hpp"
#include "server/train/optimizer.hpp"
#include "server/train/trained_with.hpp"

namespace znni {

struct Checkpoint {
  std::string training;  // a fingerprint of the network, its first weights and the configuration
  std::int64_t steps = 0;
  std::string written_as;  // version of the model that was written of these weights; "" if none was yet
  NetworkWeights weights;
  OptimizerState optimizer;
  TrainedWith with = {};
  double merit = 0;  // of a validation of these weights, if they are kept as the best ones (Trainer)
};

// Returns the error of a checkpoint that belongs to another `what`, such as "training"; it says what to give.
[[nodiscard]] Error other_checkpoint(const std::string& path, std::string_view what);

// Replaces the file atomically and syncs it: after a kill or a power cut the file is the old or the new one. Takes as
// much memory as weights and state. Every error begins with the path.
[[nodiscard]] Result<void> write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Returns the weights of the best validation that were kept in the file for this training, by its fingerprint, up to
// this step. Returns nothing if there is no file, or one of another training or of a later step. Otherwise fails as
// read_checkpoint() does.
[[nodiscard]] Result<std::optional<Checkpoint>> find_best(const std::string& path, const std::string& training,
                                                          std::int64_t steps);

// Fails with not_found if there is no file, and with corrupt_file if it is no checkpoint, of another form, cut or
// changed. Every error begins with the path. Takes twice the memory of weights and state.
[[nodiscard]] Result<Checkpoint> read_checkpoint(const std::string& path);

}  // namespace znni
