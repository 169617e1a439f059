// Flags of `planner` that say how far a search looks: --max-extent, --max-S, --max-patches, --all-extents and
// --host-ram-patches.
#pragma once

#include "planner/program/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library has named it
class App;
}

namespace znni {

// Adds the flags; `bounds` must outlive the parsing. The defaults that the help names are those of SearchOptions.
void add_bound_flags(CLI::App& app, SearchBounds& bounds);

// Refuses bounds for commands that search nothing, and beside pins that leave nothing to bound. The error names the
// flags.
[[nodiscard]] Result<void> check_bounds_used(const PlannerOptions& options);

}  // namespace znni
