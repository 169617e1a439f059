// The places of a ladder's rungs in the one block of memory that they share. One runs at a time, so all could begin at
// its start; but between two steps of a streamed rung its histories stand in the block. Other rungs can run there if
// they keep clear of them: most of the block is free then. Those of a rung with a GPU lie elsewhere.
#pragma once

#include <vector>

#include "planner/layers/ladder.hpp"
#include "server/pipeline/engine.hpp"

namespace znni {

struct RungPlace {
  ByteRange memory;             // of the block
  bool beside_streams = false;  // it touches no history of any streamed rung: may run between their steps
};

// Returns one place for every rung, within the bytes that the largest on the CPU takes; none for one with a GPU.
[[nodiscard]] std::vector<RungPlace> place_rungs(const std::vector<LadderRung>& designs);

}  // namespace znni
