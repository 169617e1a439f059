// What the threads of a warp do together.
#pragma once

#include <array>
#include <functional>
#include <source_location>

#include "tests/cuda_emulation/mma.hpp"

namespace znni::cuda_emulation {

// What each lane brings, and what one of them does with it for all.
using Brought = std::array<void*, lanes_of_warp>;
using ActForWarp = std::function<void(const Brought&)>;

// Waits until all 32 threads of the warp are here; then one of them calls `act`, before any goes on. A launch fails in
// which they do not all come, or come from different places.
void meet_in_warp(void* brought, const ActForWarp& act, const std::source_location& at);

}  // namespace znni::cuda_emulation
