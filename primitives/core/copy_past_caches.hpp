// Copies of data that is much larger than the caches and is read much later. A plain copy would first read the lines
// that it overwrites, and would evict data that is needed sooner. Processors without non-temporal stores use a plain
// copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni {

// Copies `bytes` bytes of any alignment; the two ranges must not overlap. A thread that synchronises with the caller
// after the return sees the copied bytes.
void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace znni
