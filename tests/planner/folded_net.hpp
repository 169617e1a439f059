// Networks that the passes before planning have changed: they compute what they did before.
#pragma once

#include <cstdint>

#include "planner/network/graph_edits.hpp"
#include "tests/planner/dense_net.hpp"

namespace znni::test {

// Returns `network`, with weights of this seed, after fold_and_fuse(). Expects it to be sound, to reach as far as
// before, to be the same without its weights, and to give the dense output of `network` but for rounding its parameters
// once more.
LoadedNetwork expect_folded_alike(const Network& network, std::uint64_t seed, Random& random);

}  // namespace znni::test
