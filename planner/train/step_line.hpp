// Calls of primitives one after the other, and the memory that they hold: every tensor from the call that writes it to
// the last that reads it, scratch in its own stages. Kernels change in every step, so that a layer is prepared again
// before it runs: what it keeps for as long as it is prepared lives in the stages of its call alone.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "planner/train/step_graph.hpp"
#include "primitives/core/gradient.hpp"

namespace znni {

// Names of the buffers of the loss's dense tensors, if the output is in fragments.
inline constexpr std::string_view dense_output_name = "dense output";
inline constexpr std::string_view dense_gradient_name = "dense gradient";

struct StepCall {
  int node = -1;                                // of the network; -1: the loss
  const Primitive* layer = nullptr;             // of a layer or a reorder
  const GradientPrimitive* gradient = nullptr;  // of a gradient; neither: the loss
  StepProblem problem;
  Estimate estimate;           // as described; the loss's as if it were a layer
  Seconds seconds = 0;         // predicted, with preparing
  std::vector<int> reads;      // tensors
  int writes = -1;             // tensor; -1: the gradients of the node's weights alone, which are the caller's
  bool is_recomputed = false;  // as of the work
  int first_stage = 0;         // of the step
  std::vector<int> buffers;    // per buffer of estimate.memory: index into StepLine::memory; -1: the caller's
};

struct PlacedTensor {
  std::string name;
  Shape5 shape;
  Format format;
  int buffer = -1;  // index into StepLine::memory; -1: not written yet
};

class StepLine {
 public:
  // Adds a tensor that a call will write, and returns its number.
  int add_tensor(std::string name, const Shape5& shape, Format format);
  // Says that a tensor is there from the beginning: nothing writes it.
  void bring(int tensor);
  // Appends a call; sets its first stage and its buffers. All that it reads must be there, in the format that its
  // estimate has; what it writes must not. Stops the program otherwise.
  void add(StepCall call);
  // Keeps a tensor to the end of the last call.
  void keep(int tensor);
  // Adds memory that lives as long as the plan.
  void add_persistent(std::string name, std::int64_t bytes);

  [[nodiscard]] const std::vector<StepCall>& calls() const { return calls_; }
  [[nodiscard]] const std::vector<PlacedTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const MemoryPlan& memory() const { return memory_; }
  [[nodiscard]] int stages() const { return stages_; }

 private:
  int add_buffer(Buffer buffer);
  int place(const StepCall& call, const Buffer& own, int call_stages);
  void lengthen(int tensor, int stage);

  std::vector<StepCall> calls_;
  std::vector<PlacedTensor> tensors_;
  MemoryPlan memory_;
  std::set<std::string> names_;
  int stages_ = 0;
};

// Returns the format in which the call reads tensor number `input` of its reads.
[[nodiscard]] Format read_format(const StepProblem& problem, int input, const Estimate& estimate);

// Returns the number of the problem's input that a buffer of this name is; -1 if it is none of `count`.
[[nodiscard]] int input_number(std::string_view name, std::size_t count);

}  // namespace znni
