// Work that falls into pieces, over the processor's threads, while a search lasts. Unlike the workers of a device
// (primitives/core/executor.hpp) they are at most as many as this call wants, and the caller is one of them. Fewer are
// not an error: a plan is then found later.
#pragma once

#include <cstddef>
#include <functional>

namespace znni {

// Calls body(i) once for every i in [0, count), on the calling thread and up to `threads` - 1 others; returns when all
// calls have. Any thread may take any i at any time. A body writes nothing but what belongs to its own i, so that the
// result is the same for any number of threads. Where the system grants fewer threads, fewer do the work.
void parallel_for(int threads, std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace znni
