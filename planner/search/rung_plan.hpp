// A found rung as a plan of its own: what a search begins a ladder with, and what is drawn at random.
#pragma once

#include "planner/search/geometry_search.hpp"

namespace znni {

// Makes a plan of a rung. `options` are those with which it was found: the key names their limit and strategy.
[[nodiscard]] Plan rung_plan(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                             const SearchOptions& options, const FoundRung& found);

// Appends a smaller rung for smaller volumes, in the arena of the first.
void append(Plan& plan, Rung rung);

}  // namespace znni
