// cpu.crop: a tensor without its border, so that it can join a branch that has lost more voxels. One copy, row by row.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_crop(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<CropProblem>(problem)) return refusal("cpu.crop", "crops", problem);
  std::vector<Estimate> estimates = streaming_estimates(problem, spec, float_formats(spec), 0.0);
  for (Estimate& estimate : estimates) {  // it reads only as much of the input as it writes
    const auto bytes = static_cast<double>(tensor_bytes(output_shape(problem), estimate.out));
    estimate.time = modelled_time(spec, 0.0, 1.0, 2.0 * bytes);
  }
  return estimates;
}

class CropLayer final : public PreparedLayer {
 public:
  CropLayer(Vec3 begin, Executor& executor) : begin_(begin), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    TensorView from = inputs[0];
    from.data = &from.at(0, 0, begin_);
    from.shape.n = out.shape.n;
    for_each_run(executor_, out, {&from, 1}, blocks_of(out), [&](const Run& run, int) {
      const std::span<const float> row = run_of(from, run);
      std::copy(row.begin(), row.end(), run_of(out, run).begin());
    });
    return {};
  }

 private:
  Vec3 begin_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_crop(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                    Arena&, Device& device) {
  const Vec3 begin = std::get<CropProblem>(problem).begin;
  return std::unique_ptr<PreparedLayer>(std::make_unique<CropLayer>(begin, device.executor()));
}

}  // namespace

extern constinit const Primitive crop{"cpu.crop", 1, DeviceKind::cpu, &describe_crop, &prepare_crop};

}  // namespace znni::cpu
