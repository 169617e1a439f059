// Work that falls into pieces, over the processor's threads, while a search lasts.
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
