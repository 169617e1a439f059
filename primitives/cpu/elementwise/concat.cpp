// cpu.concat: channels of several tensors one after another. Blocked layouts need whole blocks in every input except
// the last; blocks are then copied unchanged.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

bool fills_blocks(const ConcatProblem& concat, Format format) {
  const std::int64_t width = block_width(format.layout);
  return std::all_of(concat.in.begin(), concat.in.end() - 1, [=](const Shape5& in) { return in.f % width == 0; });
}

Result<std::vector<Estimate>> describe_concat(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* concat = std::get_if<ConcatProblem>(&problem);
  if (concat == nullptr) return refusal("cpu.concat", "concatenations", problem);
  std::vector<Format> formats = float_formats(spec);
  std::erase_if(formats, [&](Format format) { return !fills_blocks(*concat, format); });
  return streaming_estimates(problem, spec, formats, 0.0);
}

// Returns the channels of `out` from `first` on, as many as `input` has.
TensorView window_of(const TensorView& out, const TensorView& input, std::int64_t first) {
  TensorView window = out;
  window.data = out.channel(0, first);
  window.shape.f = input.shape.f;
  return window;
}

class ConcatLayer final : public PreparedLayer {
 public:
  explicit ConcatLayer(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    std::int64_t first = 0;
    for (const TensorView& input : inputs) {
      const TensorView window = window_of(out, input, first);
      for_each_run(executor_, window, {&input, 1}, blocks_of(input), [&](const Run& run, int) {
        const std::span<const float> from = run_of(input, run);
        std::copy(from.begin(), from.end(), run_of(window, run).begin());
      });
      first += input.shape.f;
    }
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_concat(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                                      Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<ConcatLayer>(device.executor()));
}

}  // namespace

extern constinit const Primitive concat{"cpu.concat", 1, DeviceKind::cpu, &describe_concat, &prepare_concat};

}  // namespace znni::cpu
