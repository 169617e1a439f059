// cpu.grad.copy: gradients of layers that move or add voxels: additions, a convolution's residual, concatenations,
// crops. The gradient is a window of that of the output, with zeros around it.
#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/grad/borders.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

// gradient[s][i][v] = output[s][first + i][v - begin] where that exists, else 0.
struct Move {
  std::int64_t first = 0;
  Vec3 begin;
};

Move move_of(const GradientProblem& problem) {
  Move move;
  if (const auto* crop = std::get_if<CropProblem>(&problem.layer)) move.begin = crop->begin;
  if (const auto* concat = std::get_if<ConcatProblem>(&problem.layer)) {
    for (int i = 0; i < problem.input; ++i) move.first += concat->in[static_cast<std::size_t>(i)].f;
  }
  return move;
}

bool suits(const GradientProblem& problem) {
  const bool is_residual = std::holds_alternative<ConvProblem>(problem.layer) && problem.input == 1;
  return is_residual || std::holds_alternative<AddProblem>(problem.layer) ||
         std::holds_alternative<ConcatProblem>(problem.layer) || std::holds_alternative<CropProblem>(problem.layer);
}

// Returns whether blocks are copied whole: all channels of the output before the first, and those behind the last.
bool moves_blocks(const GradientProblem& problem, Format format) {
  const std::int64_t width = block_width(format.layout);
  const std::int64_t first = move_of(problem).first;
  const std::int64_t end = first + gradient_shape(problem).f;
  return first % width == 0 && (end % width == 0 || end == output_shape(problem.layer).f);
}

Result<std::vector<Estimate>> describe_copy(const GradientProblem& problem, const DeviceSpec& spec) {
  if (!suits(problem)) return refusal("cpu.grad.copy", "gradients of layers that move or add voxels", problem);
  std::vector<Format> formats = float_formats(spec);
  std::erase_if(formats, [&](Format format) { return !moves_blocks(problem, format); });
  return streaming_gradients(problem, spec, formats, 0.0);
}

class CopyGradient final : public PreparedGradient {
 public:
  CopyGradient(Move move, Executor& executor) : move_(move), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    copy_bordered(views.output, move_.first, move_.begin, views.gradient, executor_);
    return {};
  }

 private:
  Move move_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_copy(const GradientProblem& problem, const Estimate&,
                                                       const LayerWeights&, Arena&, Device& device) {
  return std::unique_ptr<PreparedGradient>(std::make_unique<CopyGradient>(move_of(problem), device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_copy{"cpu.grad.copy", 1, DeviceKind::cpu, &describe_copy, &prepare_copy};

}  // namespace znni::cpu
