// Which modes of the poolings a search looks at (planner/search/candidates.hpp says why these).
#pragma once

#include <vector>

#include "planner/search/search.hpp"

namespace znni {

using Modes = std::vector<PoolingMode>;  // one per pooling

// Of patches. Every set once.
[[nodiscard]] std::vector<Modes> patch_modes(const Network& network, Strategy strategy);
// Of streams along z: fragments of one window along it; of the first pooling in groups too, held, or anew across the
// stream; where the first makes as many groups as it can across, of the second too.
[[nodiscard]] std::vector<Modes> stream_modes(const Network& network);

// A measure of how much runs more than once.
[[nodiscard]] std::int64_t repeats(const Modes& modes);
[[nodiscard]] bool in_groups(const Modes& modes);

}  // namespace znni
