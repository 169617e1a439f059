// A primitive that computes any problem with the oracle, in two stages with scratch and persistent buffers:
// what runs a plan can be tested without any back end. Planar only.
#pragma once

#include <memory>
#include <span>

#include "primitives/core/primitive.hpp"

namespace znni::test {

[[nodiscard]] const Backend& oracle_backend();    // "test.oracle"
[[nodiscard]] const Backend& in_place_backend();  // "test.in_place": as test.oracle, but it takes volumes
[[nodiscard]] const Backend& failing_backend();   // "test.failing": as test.oracle, but every run fails

// Returns a device in plain host memory with a hard budget and two workers, for each of its sockets. Every byte that it
// gives is `fill`.
[[nodiscard]] std::unique_ptr<Device> host_device(std::int64_t budget, std::byte fill = std::byte{0}, int sockets = 1);

// Fills a block of host memory with NaNs, as Arena::Poison.
void nans(std::span<std::byte> block, MemorySpace space);

}  // namespace znni::test
