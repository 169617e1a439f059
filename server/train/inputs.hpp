// What a training is made of, read before anything is computed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "primitives/core/result.hpp"
#include "primitives/core/shape.hpp"
#include "server/train/first_weights.hpp"
#include "server/train/loss/logits.hpp"
#include "server/train/loss/losses.hpp"
#include "server/train/model_version.hpp"
#include "server/train/options.hpp"

namespace znni::train {

struct Inputs {
  Options options;
  TrainConfig config;
  std::int64_t memory = 0;  // bytes of the whole process
  int threads = 0;
  TrainedNetwork trained;
  Shape5 input;
  Shape5 output;  // dense
  Vec3 stride;    // of the voxels of the output that the loss compares
  std::optional<Loss> loss;
  std::string training;  // Checkpoint::training
  std::string volumes;   // TrainedWith::volumes
};

[[nodiscard]] InputScale scale_of(const TrainConfig& config);

// Reads configuration and network, and calls `say` with lines for the user. Fails if they do not go together, or with
// the folder of the model; the error names the file.
[[nodiscard]] Result<Inputs> read_inputs(const Options& options, const std::function<void(const std::string&)>& say);

}  // namespace znni::train
