// planner check FILE --make-valid [OUT].
#pragma once

#include "planner/program/options.hpp"

namespace znni {

// Prints what becomes of the network without its padding, and writes that to options.valid_output, if one is named:
// never over the network's own file. Returns false if the network does not run here, of which it prints what check
// does.
[[nodiscard]] Result<bool> valid_command(const PlannerOptions& options);

}  // namespace znni
