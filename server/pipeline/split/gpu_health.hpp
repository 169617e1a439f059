// Tells if the GPU of an engine is used, and if not, why. A GPU that fails stays lost until it is tried again and
// works.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "primitives/core/result.hpp"
#include "server/pipeline/split/gpu_retry.hpp"

namespace znni {

// Thread safe.
class GpuHealth {
 public:
  // Notes that the GPU did not open, which it can only do in a later process.
  void did_not_open(const std::string& why);
  // Notes that the GPU failed for this reason, for the first time or again.
  void failed(const Error& reason);
  // Notes that the GPU works.
  void works();
  // Replaces GpuRetry::first_wait.
  void retry_after(Seconds wait);

  // Returns why the GPU is lost; nothing while it is not.
  [[nodiscard]] std::optional<std::string> why_lost() const;
  // Returns whether the GPU is lost to the process.
  [[nodiscard]] bool is_lost_for_good() const;
  // Returns whether a lost GPU is to be asked again whether it works.
  [[nodiscard]] bool is_retry_due() const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::optional<std::string> lost_;
  bool for_good_ = false;
  GpuRetry retry_;
};

}  // namespace znni
