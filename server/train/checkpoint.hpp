// What a training continues from: a file that has all of it, or is refused.
#pragma once

#include <cstdint>
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
};

// Returns the error of a checkpoint that belongs to another `what`, such as "training"; it says what to give.
[[nodiscard]] Error other_checkpoint(const std::string& path, std::string_view what);

// Replaces the file atomically and syncs it: after a kill or a power cut the file is the old or the new one. Takes as
// much memory as weights and state. Every error begins with the path.
[[nodiscard]] Result<void> write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Fails with not_found if there is no file, and with corrupt_file if it is no checkpoint, of another form, cut or
// changed. Every error begins with the path. Takes twice the memory of weights and state.
[[nodiscard]] Result<Checkpoint> read_checkpoint(const std::string& path);

}  // namespace znni
