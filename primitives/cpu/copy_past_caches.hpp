// Copies of what is much larger than the caches and read much later: a plain copy would first read the lines it is
// about to overwrite, and drive out of the caches what is wanted sooner.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni::cpu {

// `bytes` bytes, which do not overlap; of any alignment. Other threads see them when this returns and they are told so.
void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace znni::cpu
