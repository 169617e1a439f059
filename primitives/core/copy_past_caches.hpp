// Copies of what is much larger than the caches and read much later: a plain copy would first read the lines that it is
// about to overwrite, and drive out of the caches what is wanted sooner. Processors that have no stores past the caches
// copy plainly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni {

// `bytes` bytes of any alignment, which do not overlap. Whoever is told that this has returned sees them.
void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace znni
