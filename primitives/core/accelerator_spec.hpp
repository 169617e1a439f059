// The planner's figures of a GPU, beside those of every device: memory, rates by precision and the link to host memory.
// They are plain values, so that a plan can be made for an absent GPU.
#pragma once

#include <cstdint>

namespace znni {

// One copy of b bytes takes seconds_per_copy + b / bytes_per_second.
struct LinkRate {
  double seconds_per_copy = 1e-5;
  double bytes_per_second = 1e10;  // from or to pinned memory

  [[nodiscard]] constexpr double seconds(double bytes) const { return seconds_per_copy + bytes / bytes_per_second; }
  bool operator==(const LinkRate&) const = default;
};

// What a CPU has of these is the rate of bf16; the rest is zero. DeviceSpec has the rates of strict float32 and of the
// device's memory.
struct AcceleratorSpec {
  std::int64_t memory_bytes = 0;          // of the whole device; a budget is at most this
  double tf32_flops_per_second = 0;       // as DeviceSpec::flops_per_second; 0: not offered
  double bf16_flops_per_second = 0;       // bf16 products, float32 sums
  LinkRate up;                            // host to device
  LinkRate down;                          // device to host
  double duplex_bytes_per_second = 2e10;  // of both directions together, when both are busy
  double staging_bytes_per_second = 5e9;  // by the host, between plain and pinned memory
  std::int64_t compute_capability = 0;    // 90 for 9.0

  bool operator==(const AcceleratorSpec&) const = default;
};

}  // namespace znni
