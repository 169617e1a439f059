// The modes of the poolings that a search looks at (planner/search/candidates.hpp says why these).
#pragma once

#include <vector>

#include "planner/search/search.hpp"

namespace znni {

using Modes = std::vector<PoolingMode>;  // one per pooling

// Returns the modes of patches. Every set once.
[[nodiscard]] std::vector<Modes> patch_modes(const Network& network, Strategy strategy);
// Returns the modes of streams along z: fragments of one window along it. Those of the first pooling may be in groups,
// too, with its input held, or with the net run again across the stream. If the first makes as many groups as it can
// across, those of the second may be, too.
[[nodiscard]] std::vector<Modes> stream_modes(const Network& network);

// Return those that the options allow, of patches by rising repeated work. Pinned modes take the place of all others.
[[nodiscard]] std::vector<Modes> modes_of_patches(const Network& network, const SearchOptions& options);
[[nodiscard]] std::vector<Modes> modes_of_streams(const Network& network, const SearchOptions& options);

// Returns a measure of how much runs more than once.
[[nodiscard]] std::int64_t repeats(const Modes& modes);
[[nodiscard]] bool in_groups(const Modes& modes);

}  // namespace znni
