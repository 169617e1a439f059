// The daemon's prediction for a volume. `znni infer` prints it beside the reached rate, --dry-run prints it alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "client/cli/job.hpp"

namespace znni::client {

// Prediction for the whole output, computed by an otherwise idle daemon.
struct Foretold {
  double seconds = 0;
  double voxels_per_second = 0;
  std::optional<double> endless;  // voxels per second in an endless volume, if the daemon names them
};

// Returns nullopt if the daemon is too old to predict, or if the job continues an interrupted one.
[[nodiscard]] std::optional<Foretold> foretold(const Job& job, const Advice& advice);

// Returns "2.50 s, 67 voxels/s (4280000 voxels/s in an endless volume)".
[[nodiscard]] std::string foretold_text(const Foretold& foretold);

// Sets predicted_seconds, predicted_voxels_per_second and, if it is known, endless_voxels_per_second.
void set_foretold(nlohmann::json& json, const Foretold& foretold);

}  // namespace znni::client
