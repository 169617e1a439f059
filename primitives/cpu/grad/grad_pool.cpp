// cpu.grad.pool: gradients of poolings, plain and MPF. Each input voxel gathers from the windows that hold it, in a
// fixed order, so that a row has one owner and the result does not depend on the workers. For max poolings stage 0
// finds the position of each window's first maximum, a byte per output voxel, and stage 1 gathers. The input of the
// layer is read in stage 0 alone, the gradient is written in stage 1.
#include <algorithm>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view name = "cpu.grad.pool";
constexpr std::string_view maxima_name = "first maxima";
constexpr std::int64_t max_positions = 256;  // of a window, so that a byte holds one
// Floats of a row whose maxima are found together.
constexpr std::int64_t chunk = 256;
// Instructions per window voxel of an element: compare and choose, in either stage.
constexpr double instructions = 4.0;

using Position = std::uint8_t;

// Declares the tensors and the positions of maxima in two stages.
MemoryPlan pool_memory(const GradientProblem& problem, Format format) {
  MemoryPlan memory = gradient_buffers(problem, format, format);
  const Shape5 out = output_shape(problem.layer);
  if (saved_value(problem) == SavedValue::none) return memory;
  for (Buffer& buffer : memory) {
    if (buffer.name == output_gradient_name) buffer.lifetime.last = 1;
    if (buffer.name == gradient_name) buffer.lifetime = Lifetime::stages(1, 1);
  }
  const std::int64_t bytes = tensor_bytes(out, format) / static_cast<std::int64_t>(sizeof(float));
  memory.push_back({std::string(maxima_name), MemorySpace::host, bytes, Lifetime::stages(0, 1)});
  return memory;
}

Result<std::vector<Estimate>> describe(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem.layer);
  if (pool == nullptr || voxels(pool->window) > max_positions) {
    return refusal(name, "gradients of poolings with up to 256 voxels per window", problem);
  }
  const auto windows = static_cast<double>(elements(output_shape(problem.layer)));
  const double flops = windows * static_cast<double>(voxels(pool->window)) * vector_flops(instructions, spec);
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) {
    Estimate estimate;
    estimate.in = estimate.out = format;
    estimate.memory = pool_memory(problem, format);
    estimate.time = modelled_time(spec, flops, 1.0, gradient_traffic(problem, format, format));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

// Calls body(d, position) for every voxel d of a window, in the order z, y, x.
template <class Body>
void for_each_position(Vec3 window, const Body& body) {
  Position position = 0;
  for (Vec3 d; d.z < window.z; ++d.z) {
    for (d.y = 0; d.y < window.y; ++d.y) {
      for (d.x = 0; d.x < window.x; ++d.x) body(d, position++);
    }
  }
}

// Replaces the largest values so far, and their positions, by `from`, whose voxels are `step` floats apart, if larger.
template <std::int64_t width>
void take_larger(const float* from, std::int64_t step, std::int64_t count, Position position, float* most,
                 Position* positions) {
  for (std::int64_t x = 0; x < count; ++x) {
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const float value = from[x * step + lane];
      const std::int64_t i = x * width + lane;
      positions[i] = value > most[i] ? position : positions[i];
      most[i] = value > most[i] ? value : most[i];
    }
  }
}

// Adds the gradients of a row's windows to voxels `step` floats apart; with positions, of the windows whose maximum
// lies at `position`.
template <std::int64_t width>
void add_row(const float* from, const Position* positions, std::int64_t count, Position position, float* to,
             std::int64_t step) {
  for (std::int64_t x = 0; x < count; ++x) {
    for (std::int64_t lane = 0; lane < width; ++lane) {
      const std::int64_t i = x * width + lane;
      to[x * step + lane] += positions == nullptr || positions[i] == position ? from[i] : 0.0F;
    }
  }
}

template <std::int64_t width>
class PoolGradient final : public PreparedGradient {
 public:
  PoolGradient(const PoolProblem& pool, Executor& executor)
      : pool_(pool), out_(output_shape(pool)), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    maxima_ = nullptr;
    if (pool_.kind == PoolKind::max) {
      maxima_ = reinterpret_cast<Position*>(arena.grant(maxima_name).data());
      find_maxima(views.saved);
      arena.stage(1);
    }
    const std::int64_t blocks = blocks_of(views.gradient);
    const Vec3 n = pool_.in.n;
    executor_.parallel_for(pool_.in.S * blocks * n.z, [&](std::int64_t index, int) {
      for (std::int64_t y = 0; y < n.y; ++y) {
        gather_row(views, {index / n.z / blocks, index / n.z % blocks, {index % n.z, y, 0}, n.x * width});
      }
    });
    return {};
  }

 private:
  // Returns the positions of a row of maxima.
  Position* maxima_row(std::int64_t s, std::int64_t block, std::int64_t z, std::int64_t y) const {
    const std::int64_t blocks = div_up(out_.f, width);
    return maxima_ + (((s * blocks + block) * out_.n.z + z) * out_.n.y + y) * out_.n.x * width;
  }

  // Finds the first maxima of all windows, plane by plane of each input, block and offset.
  void find_maxima(const TensorView& in) const {
    const std::int64_t blocks = blocks_of(in);
    const Vec3 offsets = pooled_offsets(pool_);
    executor_.parallel_for(pool_.in.S * voxels(offsets) * blocks * out_.n.z, [&](std::int64_t index, int) {
      const std::int64_t z = index % out_.n.z;
      const std::int64_t block = index / out_.n.z % blocks;
      const std::int64_t made = index / out_.n.z / blocks;
      const Vec3 offset = fragment_at(made % voxels(offsets), offsets);
      const std::int64_t s = made / voxels(offsets);
      for (std::int64_t y = 0; y < out_.n.y; ++y) {
        const float* const from = &in.at(s, block * width, Vec3{z, y, 0} * pool_.stride + offset);
        find_row(in, from, maxima_row(pooled_input(pool_, s, offset), block, z, y));
      }
    });
  }

  // Finds the maxima of a row of windows, the first of which begins at `from`.
  void find_row(const TensorView& in, const float* from, Position* positions) const {
    const std::int64_t step = pool_.stride.x * width;
    for (std::int64_t x = 0; x < out_.n.x; x += chunk / width) {
      const std::int64_t count = std::min(chunk / width, out_.n.x - x);
      float most[chunk];
      for (std::int64_t i = 0; i < count * width; ++i) most[i] = from[(x + i / width) * step + i % width];
      std::fill_n(positions + x * width, count * width, Position{0});
      for_each_position(pool_.window, [&](Vec3 d, Position position) {
        const float* const at = from + x * step + d.z * in.strides.z + d.y * in.strides.y + d.x * width;
        take_larger<width>(at, step, count, position, most, positions + x * width);
      });
    }
  }

  // Gathers a row of the input's gradient from all windows that hold its voxels.
  void gather_row(const GradientViews& views, const Run& run) const {
    const std::span<float> to = run_of(views.gradient, run);
    std::fill(to.begin(), to.end(), 0.0F);
    const Vec3 offsets = pooled_offsets(pool_);
    for (std::int64_t index = 0; index < voxels(offsets); ++index) {
      gather_offset(views.output, run, fragment_at(index, offsets), to.data());
    }
    if (pool_.kind == PoolKind::max) return;
    const float share = 1.0F / static_cast<float>(voxels(pool_.window));
    for (float& value : to) value *= share;
  }

  void gather_offset(const TensorView& output, const Run& run, Vec3 offset, float* to) const {
    const std::int64_t s = pooled_input(pool_, run.s, offset);
    for_each_position(pool_.window, [&](Vec3 d, Position position) {
      const Vec3 first = run.start - offset - d;  // of the row's windows, in input voxels
      if (first.z < 0 || first.y < 0 || first.z % pool_.stride.z != 0 || first.y % pool_.stride.y != 0) return;
      const Vec3 row{first.z / pool_.stride.z, first.y / pool_.stride.y, 0};
      if (row.z >= out_.n.z || row.y >= out_.n.y) return;
      const Position* const maxima = maxima_ == nullptr ? nullptr : maxima_row(s, run.block, row.z, row.y);
      add_row<width>(&output.at(s, run.block * width, row), maxima, out_.n.x, position, to + (offset.x + d.x) * width,
                     pool_.stride.x * width);
    });
  }

  PoolProblem pool_;
  Shape5 out_;
  Executor& executor_;
  Position* maxima_ = nullptr;
};

Result<std::unique_ptr<PreparedGradient>> prepare(const GradientProblem& problem, const Estimate& chosen,
                                                  const LayerWeights&, Arena&, Device& device) {
  const auto& pool = std::get<PoolProblem>(problem.layer);
  using Made = std::unique_ptr<PreparedGradient>;
  switch (block_width(chosen.in.layout)) {
    case 16: return Made(std::make_unique<PoolGradient<16>>(pool, device.executor()));
    case 8: return Made(std::make_unique<PoolGradient<8>>(pool, device.executor()));
    default: return Made(std::make_unique<PoolGradient<1>>(pool, device.executor()));
  }
}

}  // namespace

extern constinit const GradientPrimitive grad_pool{name, 1, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
