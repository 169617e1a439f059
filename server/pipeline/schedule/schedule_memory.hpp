// The places of a schedule's buffers in memory that was reserved for it. What crosses the cuts of a segment lies
// elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "planner/layers/schedule.hpp"
#include "planner/network/network.hpp"
#include "primitives/core/arena.hpp"
#include "primitives/core/device.hpp"

namespace znni {

class ScheduleMemory {
 public:
  // Returns the device that gives memory of a space; it must outlive what it gives.
  using MemoryDevice = std::function<Device&(MemorySpace)>;

  // Reserves the transient buffers of `schedule` in a block of each space, and every persistent one by itself.
  [[nodiscard]] static Result<ScheduleMemory> reserve(const Schedule& schedule, const MemoryDevice& memory_device);
  // Lays the transient buffers of `schedule` out in `block`, as they are packed, and reserves every persistent one by
  // itself. `block` must outlive this. Leaves it untouched.
  [[nodiscard]] static Result<ScheduleMemory> reserve_beside(const Schedule& schedule, const Packing& packing,
                                                             std::byte* block, const MemoryDevice& memory_device);

  [[nodiscard]] std::byte* place(int buffer) const;
  // Returns the view of a tensor as a whole: planes of earlier steps and margins included.
  [[nodiscard]] TensorView view(const ScheduledTensor& tensor) const;
  // Returns the places of the buffers that a call declares.
  [[nodiscard]] std::vector<Placement> placements(const Call& call) const;
  [[nodiscard]] std::int64_t persistent_bytes() const { return persistent_bytes_; }

 private:
  Result<void> reserve_persistent(const MemoryPlan& memory, const MemoryDevice& memory_device);
  void lay(const Packing& packing, std::byte* block);

  std::vector<Reservation> blocks_;
  std::vector<std::byte*> places_;  // index as in Schedule::memory
  std::int64_t persistent_bytes_ = 0;
};

// Returns the parameters of a call for node `node`, of which `weights` has one entry per node: none of a reorder, and
// of the input's step. `swapped`: kernels with axes swapped, per node; empty where they are not.
[[nodiscard]] LayerWeights weights_of(const Call& call, int node, std::span<const NodeWeights> weights,
                                      std::span<const std::span<const float>> swapped);

}  // namespace znni
