// Lets a benchmark measure how long each call of an engine took.
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

// Is called after every call, by the thread that runs the job or its socket, one call at a time. An empty observer
// costs nothing, not even a look at the clock.
using CallObserver = std::function<void(const CallTime&)>;

}  // namespace znni
