// Handles of the libraries, which take device memory of their own.
#pragma once

#include <atomic>

namespace znni::cuda_emulation {

// Returns the count of handles.
[[nodiscard]] inline std::atomic<int>& library_handles() {
  static std::atomic<int> count = 0;
  return count;
}

}  // namespace znni::cuda_emulation
