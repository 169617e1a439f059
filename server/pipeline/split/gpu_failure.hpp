// Tells failures of a GPU apart.
#pragma once

#include "primitives/core/accelerator.hpp"

namespace znni {

// Returns true if it is the GPU that failed, or had too little memory.
[[nodiscard]] constexpr bool is_gpu_failure(ErrorCode code) {
  return code == ErrorCode::device_failure || code == ErrorCode::device_lost || code == ErrorCode::over_budget;
}

// Returns the failure of work on `gpu`. It is device_lost with both messages if this process has lost the GPU, which
// the library that failed does not know. Waits until all streams have run dry.
[[nodiscard]] Error with_cause(const Error& failure, Accelerator& gpu);

}  // namespace znni
