// A layer, prepared and fed with random numbers, to be timed: its buffers lie packed as in a running plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "primitives/core/device.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Parameters of one problem: He-normal kernels, small biases. The same problem gives the same numbers.
struct LayerParameters {
  std::vector<float> kernels;
  std::vector<float> bias;
  std::vector<float> scale;
  std::vector<float> shift;
  [[nodiscard]] LayerWeights view() const { return {kernels, bias, scale, shift}; }
};
[[nodiscard]] LayerParameters random_parameters(const LayerProblem& problem);

class LayerRun {
 public:
  // Reserves persistent buffers from `device` and prepares the layer. `block` holds its transient buffers, at
  // least pack(estimate.memory).bytes; runs of one device may share it, one run() at a time. Everything passed
  // by reference must outlive the run.
  [[nodiscard]] static Result<std::unique_ptr<LayerRun>> make(const LayerProblem& problem, const Primitive& primitive,
                                                              const Estimate& estimate,
                                                              const LayerParameters& parameters,
                                                              const Reservation& block, Device& device);

  // Fills the inputs again (they may share bytes with scratch), runs once, returns the seconds of the run alone.
  [[nodiscard]] Result<Seconds> run();

  // Returns the inputs, which the caller writes before every run; run_filled() then times the run.
  [[nodiscard]] std::span<const TensorView> inputs() const { return inputs_; }
  [[nodiscard]] Result<Seconds> run_filled();
  // Returns the output of the last run, valid until something else uses the block.
  [[nodiscard]] const TensorView& output() const { return output_; }

 private:
  LayerRun(const LayerProblem& problem, const Estimate& estimate, const Reservation& block, Device& device);
  void lay_out(const Reservation& block);
  void fill_inputs();

  LayerProblem problem_;
  Estimate estimate_;
  Device& device_;
  Reservation kept_;
  std::vector<TensorView> inputs_;
  TensorView output_;
  std::unique_ptr<Arena> persistent_;
  std::unique_ptr<Arena> transient_;
  std::unique_ptr<PreparedLayer> layer_;
};

}  // namespace znni
