// Segments that take a whole input through their micro-batches: on a CPU one after the other, on a GPU with copies
// under way while micro-batches are computed.
#pragma once

#include <array>
#include <span>
#include <stop_token>
#include <vector>

#include "primitives/core/accelerator.hpp"
#include "server/pipeline/schedule/prepared_schedule.hpp"

namespace znni {

// From and to host memory: on 'cpu', or on 'gpu_host_ram'.
class HostStage {
 public:
  [[nodiscard]] static Result<HostStage> open(SegmentDesign design, const NetworkWeights& weights,
                                              const PlaceDevices& devices, const Arena::Poison& poison = {});
  [[nodiscard]] const SegmentDesign& design() const { return segment_.design(); }

  // Returns the planes of a dense tensor at `tensor`, of design().whole_tensor(), that are new in a step: all of them
  // if nothing is streamed.
  [[nodiscard]] TensorView new_planes(float* tensor) const;

  // Runs pass `pass` of a patch. `input` is such a tensor, filled; `output` takes whole_output(), its fragments in
  // their order. All passes of a step of a streamed rung run, in any order, before the next step.
  [[nodiscard]] Result<void> run(float* input, const TensorView& output, std::int64_t pass,
                                 const std::stop_token& stop);
  // Begins a stream of a streamed rung with the next step, which runs all nodes.
  [[nodiscard]] Result<void> forget() { return segment_.forget(true); }

 private:
  explicit HostStage(PreparedSchedule segment) : segment_(std::move(segment)) {}
  PreparedSchedule segment_;
  Reservation micro_batch_output_;  // where its fragments must yet be put in order
};

// The tail: two slots of input and of output in device memory. The slots of the input of a streamed rung have room for
// the planes that it keeps, which never leave the device.
class GpuStage {
 public:
  [[nodiscard]] static Result<GpuStage> open(SegmentDesign design, const NetworkWeights& weights,
                                             Accelerator& accelerator, const Arena::Poison& poison = {});
  [[nodiscard]] const SegmentDesign& design() const { return segment_.design(); }

  // Tells a network that pads where the patches of the next pass begin (PreparedSchedule::place).
  void place(std::span<const Vec3> starts, Vec3 volume) { segment_.place(starts, volume); }
  // Runs a pass from whole_input(), of which a stream has the new planes alone, to a dense output in pinned memory.
  // Returns when the output has arrived, or after an error when nothing is under way any more.
  [[nodiscard]] Result<void> run(const float* input, float* output, std::int64_t pass, const std::stop_token& stop);
  [[nodiscard]] Result<void> forget() { return segment_.forget(true); }

 private:
  struct Slot {
    Reservation input;
    Reservation output;
    Event filled;    // by the upload
    Event computed;  // the input is read, the output written
    Event fetched;   // by the downloads
  };
  GpuStage(PreparedSchedule segment, Accelerator& accelerator)
      : segment_(std::move(segment)), accelerator_(&accelerator) {}
  Result<void> fill_slot(Slot& slot);
  Result<void> run_micro_batches(const float* input, float* output, std::int64_t pass, const std::stop_token& stop);
  Result<void> send(std::int64_t micro_batch, const float* input, Slot& slot);
  Result<void> fetch(std::int64_t micro_batch, float* output, Slot& slot);

  PreparedSchedule segment_;
  Accelerator* accelerator_;
  std::array<Slot, 2> slots_;
};

}  // namespace znni
