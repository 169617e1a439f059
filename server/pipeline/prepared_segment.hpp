// One segment of a rung on its place, ready to run: layers prepared with their weights, every buffer at its place in
// memory reserved here. What crosses its cuts lies elsewhere: the caller says where, before each run.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "planner/layers/segments.hpp"
#include "planner/network/network.hpp"
#include "server/pipeline/history.hpp"
#include "server/pipeline/place_devices.hpp"
#include "server/pipeline/schedule_memory.hpp"

namespace znni {

class PreparedSegment {
 public:
  // Reserves the segment's transient and persistent memory of every space. `weights` are the whole network's and must
  // outlive it. `poison` as Arena::poison_with; may be empty.
  [[nodiscard]] static Result<PreparedSegment> open(SegmentDesign design, const NetworkWeights& weights,
                                                    const PlaceDevices& devices, const Arena::Poison& poison = {});

  [[nodiscard]] const SegmentDesign& design() const { return design_; }

  // One group, the `number`-th that runs in a patch: reads `input`, a dense tensor of design().group_tensor(), of a
  // stream with its new planes alone written; writes `output`. Both are planar, in the memory of its place. On 'gpu'
  // the work is given to the compute stream, and run() does not wait for it. `cancelled` when `stop` asks for it
  // between two layers.
  [[nodiscard]] Result<void> run(float* input, const TensorView& output, std::int64_t number,
                                 const std::stop_token& stop);
  // Of a streamed rung: the next step is the first of its stream. On 'gpu' given to the compute stream as well.
  [[nodiscard]] Result<void> forget();

 private:
  struct Task {
    std::string name;  // "node conv1: sim.conv"
    std::unique_ptr<Arena> arena;
    std::unique_ptr<PreparedLayer> layer;
    std::vector<int> inputs;  // tensors
    int output = 0;
    std::vector<TensorView> views;  // of the inputs, filled before each run
    std::vector<Border> around;     // per input
    int history = -1;               // of its output
  };
  PreparedSegment(SegmentDesign design, ScheduleMemory memory, const PlaceDevices& devices)
      : design_(std::move(design)),
        executor_(&devices.host_threads(design_.place)),
        gpu_(devices.gpu),
        memory_(std::move(memory)) {}
  void lay_histories();
  void exchange_kernels_of(const NetworkWeights& weights);
  // Returns the weights of the segment's nodes.
  [[nodiscard]] std::span<const NodeWeights> own_of(const NetworkWeights& weights) const;
  Result<Task> prepare(const Call& call, const NetworkWeights& weights, const PlaceDevices& devices,
                       const Arena::Poison& poison);
  [[nodiscard]] TensorView view(int tensor, float* input) const;
  Result<void> run_task(Task& task, float* input, const TensorView& output);
  Result<void> roll(int history, float* tensor, std::int64_t number);

  SegmentDesign design_;
  Executor* executor_;  // copies histories in host RAM
  Accelerator* gpu_;    // nullptr where there is none
  ScheduleMemory memory_;
  std::vector<std::span<const float>> kernels_;  // per node, with axes exchanged; empty where they are not
  std::vector<Task> tasks_;
  std::vector<History> histories_;  // as in Schedule::histories
  int input_history_ = -1;
};

}  // namespace znni
