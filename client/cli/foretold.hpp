// Tells what the daemon predicts for a volume, as `znni infer` tells it beside what was reached, and --dry-run alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "client/cli/job.hpp"

namespace znni::client {

// Tells of the whole output, as a daemon computes it that has nothing else to do.
struct Foretold {
  double seconds = 0;
  double voxels_per_second = 0;
  std::optional<double> endless;  // voxels per second in a volume without end, where the daemon tells them
};

// Returns nothing where the daemon tells nothing: it is older, or the job goes on with one that was begun.
[[nodiscard]] std::optional<Foretold> foretold(const Job& job, const Advice& advice);

// Returns "2.50 s, 67 voxels/s (4280000 voxels/s in an endless volume)".
[[nodiscard]] std::string foretold_text(const Foretold& foretold);

// Sets predicted_seconds, predicted_voxels_per_second and, where it is known, endless_voxels_per_second.
void set_foretold(nlohmann::json& json, const Foretold& foretold);

}  // namespace znni::client
