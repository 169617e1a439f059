// Checks that the options of `planner` go with its command.
#pragma once

#include "planner/program/options.hpp"

namespace znni {

// Refuses options that the command has no use for, or lacks: of check, draw, measure and show.
[[nodiscard]] Result<void> check_options_of_command(const PlannerOptions& options);
// Fails if one of the files that the command reads has an empty name.
[[nodiscard]] Result<void> check_files(const PlannerOptions& options);
// Fails if --weights is given without the .prototxt whose numbers it names.
[[nodiscard]] Result<void> check_weights_used(const PlannerOptions& options);
// Fails if a search may use bf16, and neither device computes in it. `gpu`: nullptr if none is planned for.
[[nodiscard]] Result<void> check_precision(const PlannerOptions& options, const DeviceSpec& cpu, const DeviceSpec* gpu);

}  // namespace znni
