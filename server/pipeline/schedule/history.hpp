// The planes along z that one tensor of a streamed net keeps from step to step (planner/geometry/streams.hpp), in the
// memory of the place that computes: the host's, or an accelerator's.
#pragma once

#include <cstdint>

#include "planner/network/network.hpp"
#include "primitives/core/accelerator.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

// Returns the part of `whole` from voxel `begin` on.
[[nodiscard]] TensorView view_from(const TensorView& whole, Vec3 begin);
// Returns what is left of `whole` without the voxels around: behind its history, and between its margins, what a step
// writes.
[[nodiscard]] TensorView view_within(const TensorView& whole, const Border& around);

class History {
 public:
  // Keeps planes of `tensor`, which is dense: its first `planes` planes are those of earlier steps; it is filled `runs`
  // times a step. `kept`: runs times the bytes of those planes, memory of the caller's, as `tensor`; both must outlive
  // the history.
  History(const TensorView& tensor, std::int64_t planes, std::int64_t runs, float* kept);

  // Begins a stream: what came before it is zeros.
  void forget(Executor& executor) const;
  // Begins a step, or goes on in it, with time `run` of those that the tensor is filled.
  void begin(std::int64_t run) { next_ = run; }
  // Moves the tensor to `tensor`, without its voxels.
  void move_to(float* tensor) { tensor_.data = tensor; }
  // Puts the kept planes before the tensor's new planes, which were just written, and keeps the last planes for the
  // next step. Each call is for the next time in this step.
  void roll(Executor& executor);
  // Do the two halves of roll(), for a caller that changes planes of the tensor between them, new or earlier ones.
  void put(Executor& executor) const;
  void keep(Executor& executor);

  [[nodiscard]] const TensorView& tensor() const { return tensor_; }
  [[nodiscard]] std::int64_t planes() const { return planes_; }

  // Do the same for device memory: copies within it, given to Stream::compute.
  [[nodiscard]] Result<void> forget(Accelerator& accelerator) const;
  [[nodiscard]] Result<void> roll(Accelerator& accelerator);

 private:
  [[nodiscard]] std::byte* kept_of(std::int64_t run) const;
  template <class Task>
  void for_each_piece(Executor& executor, const Task& task) const;

  TensorView tensor_;
  std::int64_t planes_;
  std::int64_t runs_;
  std::byte* kept_;
  std::int64_t piece_;   // bytes of the kept planes of one channel or block, which follow each other
  std::int64_t pieces_;  // of one run
  std::int64_t step_;    // bytes from one piece to the next in the tensor
  std::int64_t next_ = 0;
};

}  // namespace znni
