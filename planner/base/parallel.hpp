// Work that falls into pieces, over the processor's threads, while a search lasts. Unlike the workers of a device
// (primitives/core/executor.hpp) they are no more than wanted for this call, the caller is one of them, and that there
// are fewer is no error: a plan is then found later.
#pragma once

#include <cstddef>
#include <functional>

namespace znni {

// Calls body(i) once for every i in [0, count), on the calling thread and up to `threads` - 1 others; returns when all
// calls have. Which thread takes which i, and when, is open: a body writes nothing but what belongs to its own i, so
// that what comes of it is the same for any number of threads. Where the system grants fewer threads, fewer do the
// work.
void parallel_for(int threads, std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace znni
