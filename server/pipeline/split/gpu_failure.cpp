#include "server/pipeline/split/gpu_failure.hpp"

namespace znni {

Error with_cause(const Error& failure, Accelerator& gpu) {
  if (failure.code != ErrorCode::device_failure) return failure;
  const Result<void> sound = gpu.synchronise();
  if (sound || sound.error().code != ErrorCode::device_lost) return failure;
  return {ErrorCode::device_lost, failure.message + "; " + sound.error().message};
}

}  // namespace znni
