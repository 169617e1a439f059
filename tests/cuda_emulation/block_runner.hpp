// Runs the threads of blocks. Two files define it, and a program takes one of them: block_fibers.cpp runs all threads
// on one thread of the host, fast and in a fixed order; block_threads.cpp runs each on a thread of its own, for the
// thread sanitizer.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>

namespace znni::cuda_emulation {

struct Grid {
  dim3 blocks;
  dim3 threads;            // of each
  bool backwards = false;  // the last block and thread first
};

[[nodiscard]] inline std::uint64_t count_of(dim3 extents) { return std::uint64_t{extents.x} * extents.y * extents.z; }
// Returns where the `index`-th element lies, x fastest; counted from the end if `backwards`.
[[nodiscard]] inline uint3 place_of(dim3 extents, std::uint64_t index, bool backwards) {
  const std::uint64_t at = backwards ? count_of(extents) - 1 - index : index;
  return {static_cast<unsigned>(at % extents.x), static_cast<unsigned>(at / extents.x % extents.y),
          static_cast<unsigned>(at / (std::uint64_t{extents.x} * extents.y))};
}

// Returns the place of a thread in its block, x fastest: 32 that follow each other are a warp.
[[nodiscard]] inline std::uint64_t index_of(dim3 extents, uint3 place) {
  return (std::uint64_t{place.z} * extents.y + place.y) * extents.x + place.x;
}

[[nodiscard]] inline std::string place_text(const std::source_location& at) {
  return std::string(at.file_name()) + ":" + std::to_string(at.line());
}
[[nodiscard]] inline bool is_same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

// Thrown to end a thread whose block does not meet.
struct Abandoned {};

// Calls `kernel` once per thread of every block, with threadIdx and blockIdx set. Returns what went wrong, empty where
// nothing did: of a block, either all threads reach the same barrier or all end; of a warp likewise, where it meets.
[[nodiscard]] std::string run_blocks(const Grid& grid, const std::function<void()>& kernel);

}  // namespace znni::cuda_emulation
