// One segment of a rung on its place, ready to run: layers prepared with their weights, every buffer at its place in
// memory reserved here. What crosses its cuts lies elsewhere: the caller says where, before each run.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "planner/network.hpp"
#include "planner/segments.hpp"
#include "server/pipeline/place_devices.hpp"

namespace znni {

class PreparedSegment {
 public:
  // Reserves the segment's transient and persistent memory of every space. `weights` are the whole network's and must
  // outlive it. `poison` as Arena::poison_with; may be empty.
  [[nodiscard]] static Result<PreparedSegment> open(SegmentDesign design, const NetworkWeights& weights,
                                                    const PlaceDevices& devices, const Arena::Poison& poison = {});

  [[nodiscard]] const SegmentDesign& design() const { return design_; }

  // One group: reads `input`, writes `output`, dense planar tensors in the memory of its place. On 'gpu' the work is
  // given to the compute stream, and run() does not wait for it. `cancelled` when `stop` asks for it between two
  // layers.
  [[nodiscard]] Result<void> run(float* input, float* output, const std::stop_token& stop);

 private:
  struct Task {
    std::string name;  // "node conv1: sim.conv"
    std::unique_ptr<Arena> arena;
    std::unique_ptr<PreparedLayer> layer;
    std::vector<int> inputs;  // tensors
    int output = 0;
    std::vector<TensorView> views;  // of the inputs, filled before each run
  };
  explicit PreparedSegment(SegmentDesign design) : design_(std::move(design)) {}
  Result<void> reserve(const PlaceDevices& devices);
  Result<Task> prepare(const Call& call, const NetworkWeights& weights, const PlaceDevices& devices,
                       const Arena::Poison& poison);
  [[nodiscard]] TensorView view(int tensor, float* input, float* output) const;

  SegmentDesign design_;
  std::vector<Reservation> blocks_;
  std::vector<std::byte*> places_;  // of every buffer of the schedule's memory
  std::vector<Task> tasks_;
};

}  // namespace znni
