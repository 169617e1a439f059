// The number of descriptors that the process may have open, and what they are for.
#pragma once

#include <cstdint>

namespace znni {

// Raises the soft limit of the process to its hard one, as far as it can be of use. Returns the limit that holds then.
std::int64_t raise_descriptor_limit();

// Returns how many connections of clients may be open at the same time if no option says so: half of the descriptors,
// and one for each MiB of `memory_bytes`; from 16 to 4096.
[[nodiscard]] std::int64_t default_connections(std::int64_t descriptors, std::int64_t memory_bytes);

// Returns how many regions of shared memory may be registered: an eighth of the descriptors, 1024 at most.
[[nodiscard]] std::int64_t max_shared_regions(std::int64_t descriptors);

}  // namespace znni
