// Segments that take a whole input through their groups: on a CPU one after the other, on a GPU with copies under way
// while groups are computed.
#pragma once

#include <array>
#include <stop_token>
#include <vector>

#include "primitives/core/accelerator.hpp"
#include "server/pipeline/prepared_segment.hpp"

namespace znni {

// From and to host memory: on 'cpu', or on 'gpu_host_ram'.
class HostStage {
 public:
  [[nodiscard]] static Result<HostStage> open(SegmentDesign design, const NetworkWeights& weights,
                                              const PlaceDevices& devices, const Arena::Poison& poison = {});
  [[nodiscard]] const SegmentDesign& design() const { return segment_.design(); }

  // `input` holds design().whole_input(), `output` takes whole_output(), its fragments in their order.
  [[nodiscard]] Result<void> run(float* input, float* output, const std::stop_token& stop);

 private:
  explicit HostStage(PreparedSegment segment) : segment_(std::move(segment)) {}
  PreparedSegment segment_;
  Reservation group_output_;  // where its fragments must yet be put in order
};

// The tail: two slots of input and of output in device memory.
class GpuStage {
 public:
  [[nodiscard]] static Result<GpuStage> open(SegmentDesign design, const NetworkWeights& weights,
                                             Accelerator& accelerator, const Arena::Poison& poison = {});
  [[nodiscard]] const SegmentDesign& design() const { return segment_.design(); }

  // The same, from and to pinned memory. Returns when the output is there, or after an error when nothing is under way
  // any more.
  [[nodiscard]] Result<void> run(const float* input, float* output, const std::stop_token& stop);

 private:
  struct Slot {
    Reservation input;
    Reservation output;
    Event filled;    // by the upload
    Event computed;  // the input is read, the output written
    Event fetched;   // by the downloads
  };
  GpuStage(PreparedSegment segment, Accelerator& accelerator)
      : segment_(std::move(segment)), accelerator_(&accelerator) {}
  Result<void> fill_slot(Slot& slot);
  Result<void> run_groups(const float* input, float* output, const std::stop_token& stop);
  Result<void> send(std::int64_t group, const float* input, Slot& slot);
  Result<void> fetch(std::int64_t group, float* output, Slot& slot);

  PreparedSegment segment_;
  Accelerator* accelerator_;
  std::array<Slot, 2> slots_;
};

}  // namespace znni
