// cpu.reorder: converts between planar and the channel-blocked layouts.
#include <algorithm>
#include <span>

#include "primitives/core/volume_layer.hpp"
#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {
namespace {

// Cycles per element; lanes are written or read one at a time.
constexpr double cycles_per_element = 2.0;

bool is_blocked(Format format) { return block_width(format.layout) > 1; }
bool is_float(Format format) { return format.type == ElementType::f32; }
bool is_planar(Format format) { return format.layout == Layout::planar; }

Result<std::vector<Estimate>> describe_reorder(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* reorder = std::get_if<ReorderProblem>(&problem);
  if (reorder == nullptr) return refusal("cpu.reorder", "reorders", problem);
  const bool one_is_planar =
      (is_planar(reorder->from) && is_blocked(reorder->to)) || (is_blocked(reorder->from) && is_planar(reorder->to));
  if (!is_float(reorder->from) || !is_float(reorder->to) || !one_is_planar) {
    return refusal("cpu.reorder", "reorders between planar and blocked float32", problem);
  }
  Estimate estimate;
  estimate.in = reorder->from;
  estimate.out = reorder->to;
  estimate.memory = input_output_buffers(problem, estimate.in, estimate.out);
  const double flops = scalar_flops(cycles_per_element, spec) * static_cast<double>(elements(reorder->in));
  estimate.time = modelled_time(spec, flops, 1.0, tensor_traffic(problem, estimate.in, estimate.out));
  return std::vector<Estimate>{std::move(estimate)};
}

// Copies `channels` planar rows, `channel_step` floats apart, into the lanes of one blocked row; the other lanes are
// zeroed.
template <std::int64_t width>
void block_row(const float* planar, std::int64_t channel_step, std::int64_t channels, float* blocked,
               std::int64_t voxels) {
  if (channels < width) std::fill_n(blocked, voxels * width, 0.0F);
  for (std::int64_t lane = 0; lane < channels; ++lane) {
    const float* from = planar + lane * channel_step;
    for (std::int64_t x = 0; x < voxels; ++x) blocked[x * width + lane] = from[x];
  }
}

template <std::int64_t width>
void unblock_row(float* planar, std::int64_t channel_step, std::int64_t channels, const float* blocked,
                 std::int64_t voxels) {
  for (std::int64_t lane = 0; lane < channels; ++lane) {
    float* to = planar + lane * channel_step;
    for (std::int64_t x = 0; x < voxels; ++x) to[x] = blocked[x * width + lane];
  }
}

template <std::int64_t width>
void reorder_rows(Executor& executor, const TensorView& planar, const TensorView& blocked, bool to_blocked) {
  const Shape5& shape = planar.shape;
  const std::int64_t blocks = div_up(shape.f, width);
  executor.parallel_for(shape.S * blocks * shape.n.z, [&](std::int64_t index, int) {
    const std::int64_t s = index / shape.n.z / blocks;
    const std::int64_t first = index / shape.n.z % blocks * width;
    const std::int64_t channels = std::min(width, shape.f - first);
    for (Vec3 start{index % shape.n.z, 0, 0}; start.y < shape.n.y; ++start.y) {
      float* planar_row = &planar.at(s, first, start);
      float* blocked_row = &blocked.at(s, first, start);
      if (to_blocked) block_row<width>(planar_row, planar.strides.f, channels, blocked_row, shape.n.x);
      if (!to_blocked) unblock_row<width>(planar_row, planar.strides.f, channels, blocked_row, shape.n.x);
    }
  });
}

class ReorderLayer final : public VolumeLayer {
 public:
  explicit ReorderLayer(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const bool to_blocked = is_blocked(out.format);
    const TensorView& planar = to_blocked ? inputs[0] : out;
    const TensorView& blocked = to_blocked ? out : inputs[0];
    if (blocked.format.layout == Layout::blocked16) reorder_rows<16>(executor_, planar, blocked, to_blocked);
    if (blocked.format.layout == Layout::blocked8) reorder_rows<8>(executor_, planar, blocked, to_blocked);
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_reorder(const LayerProblem&, const Estimate&, const LayerWeights&,
                                                       Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<ReorderLayer>(device.executor()));
}

}  // namespace

extern constinit const Primitive reorder{"cpu.reorder", 1, DeviceKind::cpu, &describe_reorder, &prepare_reorder};

}  // namespace znni::cpu
