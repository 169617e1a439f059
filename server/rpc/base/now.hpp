// Tells the time that clients are measured by: the steady clock, or one that a test moves.
#pragma once

#include <chrono>
#include <functional>

namespace znni::rpc {

// Never goes back. May be asked from any thread.
using Now = std::function<std::chrono::steady_clock::time_point()>;

}  // namespace znni::rpc
