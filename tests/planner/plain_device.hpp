// A device in ordinary memory with a hard budget and one worker, and primitives that run on it at once: for
// tests of what measures them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "primitives/core/primitive.hpp"

namespace znni::plain {

class PlainDevice final : public Device {
 public:
  PlainDevice(const DeviceSpec& spec, std::int64_t budget) : spec_(spec), budget_(budget) {}

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override {
    if (reserved_ + bytes > budget_) return Error{ErrorCode::over_budget, std::string(purpose) + " is over the budget"};
    if (bytes == 0) return Reservation();
    auto* block = static_cast<std::byte*>(
        std::aligned_alloc(buffer_alignment, static_cast<std::size_t>(round_up(bytes, buffer_alignment))));
    std::fill_n(block, bytes, std::byte{0});
    reserved_ += bytes;
    return Reservation(*this, space, {block, static_cast<std::size_t>(bytes)});
  }
  [[nodiscard]] std::int64_t budget(MemorySpace) const override { return budget_; }
  [[nodiscard]] std::int64_t reserved(MemorySpace) const override { return reserved_; }

 private:
  void give_back(MemorySpace, std::span<std::byte> block) override {
    reserved_ -= static_cast<std::int64_t>(block.size());
    std::free(block.data());
  }

  DeviceSpec spec_;
  std::int64_t budget_;
  std::int64_t reserved_ = 0;
  Executor executor_{1};
};

// Copies the first input's mean into every output element; takes its scratch and its persistent copy.
class MeanLayer final : public PreparedLayer {
 public:
  explicit MeanLayer(bool fails) : fails_(fails) {}
  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (fails_) return Error{ErrorCode::device_failure, "refuses to run"};
    const std::span<float> scratch = arena.grant_as<float>("scratch");
    const TensorView& in = inputs.front();
    float sum = 0;
    for (std::int64_t i = 0; i < elements(in.shape); ++i) sum += in.data[i];
    scratch[0] = sum / static_cast<float>(elements(in.shape));
    std::fill_n(out.data, elements(out.shape), scratch[0]);
    return {};
  }

 private:
  bool fails_;
};

inline Estimate mean_estimate(const LayerProblem& problem, std::int64_t setting, Seconds time) {
  Estimate estimate{{{"setting", setting}}, {}, {}, time, input_output_buffers(problem, {}, {})};
  estimate.memory.push_back({"scratch", MemorySpace::host, 4, Lifetime::stages(0, 0)});
  estimate.memory.push_back({"kept", MemorySpace::host, 400, Lifetime::plan()});
  return estimate;
}

// Describes settings 1, 2 and 3, each modelled at twice the time of the one before; 3 fails when it runs.
inline Result<std::vector<Estimate>> describe_mean(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ReorderProblem>(problem)) return Error{ErrorCode::unsupported, "no reorder"};
  return std::vector<Estimate>{mean_estimate(problem, 1, 1e-3), mean_estimate(problem, 2, 2e-3),
                               mean_estimate(problem, 3, 2.5e-3), mean_estimate(problem, 4, 4e-3)};
}

inline Result<std::unique_ptr<PreparedLayer>> prepare_mean(const LayerProblem&, const Estimate& chosen,
                                                           const LayerWeights&, Arena& persistent, Device&) {
  std::ignore = persistent.grant("kept");
  return std::unique_ptr<PreparedLayer>(std::make_unique<MeanLayer>(setting(chosen.variant, "setting", 0) == 3));
}

inline constexpr Primitive mean = {"plain.mean", 1, DeviceKind::cpu, describe_mean, prepare_mean};

}  // namespace znni::plain
