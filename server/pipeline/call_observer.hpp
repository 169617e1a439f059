// Who wants to know how long each call of an engine took: a benchmark.
#pragma once

#include <functional>

#include "primitives/core/primitive.hpp"

namespace znni {

// One run of a layer, or of the reorder behind it.
struct CallTime {
  int node = 0;  // of the network; -1: the reorder of the input
  Seconds seconds = 0;
  Seconds predicted = 0;  // of the step; 0 for its reorder, which the step counts in
};

// Called after every call: by the thread that runs the job, or that runs it on a socket, one at a time. An empty one
// costs nothing, not even a look at the clock.
using CallObserver = std::function<void(const CallTime&)>;

}  // namespace znni
