// A call of a step of training, ready to be timed: its buffers lie packed as in a step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "planner/measure/layer_run.hpp"
#include "planner/train/step_line.hpp"
#include "primitives/core/arena.hpp"

namespace znni::bench {

class CallRun {
 public:
  // Returns the bytes that a run takes: all of the call's buffers. What it keeps of its kernels lives in the stages of
  // the call alone, as in a step (planner/train/step_line.hpp).
  [[nodiscard]] static std::int64_t bytes_of(const StepCall& call);

  // `block` has at least bytes_of(call); runs may share it, one run() at a time. All that is passed by reference must
  // outlive this.
  [[nodiscard]] static Result<std::unique_ptr<CallRun>> make(const StepCall& call, const LayerParameters& parameters,
                                                             const Reservation& block, Device& device);

  // Writes what the call reads: input_value() of layer_samples.hpp. Must be called before every run.
  void fill();
  // Runs once, and returns the seconds. It prepares first what the call keeps of its kernels, because they change in
  // every step.
  [[nodiscard]] Result<Seconds> run();
  // Returns what the last run wrote; valid until something else uses the block.
  [[nodiscard]] const TensorView& result() const { return result_; }
  // Returns the gradient of the weights, of a call that writes it beside that of the input.
  [[nodiscard]] const TensorView& weights() const { return weights_; }

 private:
  CallRun(const StepCall& call, const LayerParameters& parameters, Device& device)
      : call_(call), parameters_(parameters), device_(device) {}
  void lay_out(const Reservation& block);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> run_prepared();

  const StepCall call_;
  const LayerParameters& parameters_;
  Device& device_;
  std::vector<TensorView> reads_;
  TensorView result_;
  TensorView weights_;
  std::span<float> bias_;  // of the gradient of the weights
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<PreparedLayer> layer_;
  std::unique_ptr<PreparedGradient> gradient_;
};

}  // namespace znni::bench
