// Search and measurement in turns. It searches with what is known, runs the layers of the best plan and searches again
// with corrected costs. It ends when the best plan rests on measured (or recorded) times alone, or when time is up.
#pragma once

#include <functional>
#include <string>

#include "planner/measure/measured.hpp"
#include "planner/search/search.hpp"

namespace znni {

// Is told before each problem is measured, one line.
using OnProgress = std::function<void(const std::string&)>;

// Measures the ways that the plan chose first, then, when all its times are known, their rivals. If time is up or
// options.stop says so, returns the plan of the last complete search with the records so far. A layer that needs more
// memory than can be measured keeps its modelled time.
[[nodiscard]] Result<Plan> measured_search(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                                           Measurer& measurer, const SearchOptions& options,
                                           const OnProgress& on_progress = {}, SearchLog* log = nullptr);

}  // namespace znni
