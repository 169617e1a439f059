// cpu.pool.inside: plain strided means of the voxels of a window that are not padding, which is -infinity.
#include <algorithm>
#include <limits>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"
#include "primitives/cpu/pool/pool_rows.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view rows_name = "rows";
// Share of the peak rate, as that of other poolings, and a row's scratch: sums and counts of a row of the input, then
// of a row of windows.
constexpr double efficiency = 0.04;
constexpr std::int64_t rows_per_worker = 4;

std::int64_t row_floats(const PoolProblem& pool, std::int64_t width) {
  return round_up(pool.in.n.x * width, buffer_alignment / static_cast<std::int64_t>(sizeof(float)));
}

double inside_flops(const PoolProblem& pool, std::int64_t width) {
  const Shape5 out = output_shape(pool);
  const auto rows = static_cast<double>(pool.in.S * div_up(pool.in.f, width) * out.n.z * out.n.y);
  const auto steps = static_cast<double>(pool.window.z * pool.window.y + pool.window.x + 1);
  return rows * static_cast<double>(2 * pool.in.n.x * width) * steps / efficiency;
}

// Adds the voxels of a row that lie inside to `sums`, and their numbers to `counts`.
void add_inside(const float* from, std::span<float> sums, std::span<float> counts) {
  constexpr float outside = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_outside = from[i] == outside;
    sums[i] += is_outside ? 0.0F : from[i];
    counts[i] += is_outside ? 0.0F : 1.0F;
  }
}

class InsideLayer final : public PreparedLayer {
 public:
  InsideLayer(const PoolProblem& pool, Format format, Executor& executor)
      : pool_(pool), width_(block_width(format.layout)), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::int64_t blocks = div_up(pool_.in.f, width_);
    const std::int64_t z = out.shape.n.z;
    const std::span<float> scratch = arena.grant_as<float>(rows_name);
    const auto row = static_cast<std::size_t>(row_floats(pool_, width_));
    executor_.parallel_for(pool_.in.S * blocks * z, [&](std::int64_t index, int worker) {
      const std::span<float> rows = scratch.subspan(static_cast<std::size_t>(worker * rows_per_worker) * row);
      const Place place{index / z / blocks, index / z % blocks * width_, index % z};
      for (std::int64_t y = 0; y < out.shape.n.y; ++y) {
        const std::span<const float> means = pool_row(inputs[0], place, y, rows, row);
        const std::span<float> to(&out.at(place.s, place.channel, {place.z, y, 0}),
                                  static_cast<std::size_t>(out.shape.n.x * width_));
        take_voxels(means, width_, 0, pool_.stride.x, 1.0F, to);
      }
    });
    return {};
  }

 private:
  struct Place {
    std::int64_t s;
    std::int64_t channel;
    std::int64_t z;  // of the output
  };

  // Returns the means of the windows of row y of the output at every voxel of x. `rows`: four of scratch, `row` floats
  // apart.
  std::span<const float> pool_row(const TensorView& in, const Place& place, std::int64_t y, std::span<float> rows,
                                  std::size_t row) const {
    const auto read = static_cast<std::size_t>(in.shape.n.x * width_);
    const auto written = static_cast<std::size_t>((in.shape.n.x - spanned(pool_).x + 1) * width_);
    const std::span<float> sums = rows.subspan(0, read);
    const std::span<float> counts = rows.subspan(row, read);
    std::fill(sums.begin(), sums.end(), 0.0F);
    std::fill(counts.begin(), counts.end(), 0.0F);
    for (std::int64_t i = 0; i < pool_.window.z * pool_.window.y; ++i) {
      const Vec3 tap{i / pool_.window.y, i % pool_.window.y, 0};
      add_inside(&in.at(place.s, place.channel, Vec3{place.z, y, 0} * pool_.stride + tap * pool_.dilation), sums,
                 counts);
    }
    const std::span<float> means = rows.subspan(2 * row, written);
    const std::span<float> divisors = rows.subspan(3 * row, written);
    pool_along_row(PoolKind::average, sums, pool_.dilation.x * width_, pool_.window.x, means);
    pool_along_row(PoolKind::average, counts, pool_.dilation.x * width_, pool_.window.x, divisors);
    for (std::size_t i = 0; i < means.size(); ++i) means[i] = divisors[i] > 0.0F ? means[i] / divisors[i] : 0.0F;
    return means;
  }

  PoolProblem pool_;
  std::int64_t width_;
  Executor& executor_;
};

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->kind != PoolKind::average_inside || pool->mode != PoolMode::plain) {
    return refusal("cpu.pool.inside", "plain average poolings of what lies inside", problem);
  }
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) {
    const std::int64_t width = block_width(format.layout);
    Estimate estimate;
    estimate.in = estimate.out = format;
    estimate.memory = input_output_buffers(*pool, format, format);
    const std::int64_t bytes = float_bytes(spec.threads * rows_per_worker * row_floats(*pool, width));
    estimate.memory.push_back({std::string(rows_name), MemorySpace::host, bytes, Lifetime::stages(0, 0)});
    estimate.time = modelled_time(spec, inside_flops(*pool, width), 1.0, tensor_traffic(*pool, format, format));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate& chosen, const LayerWeights&,
                                               Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(
      std::make_unique<InsideLayer>(std::get<PoolProblem>(problem), chosen.in, device.executor()));
}

}  // namespace

extern constinit const Primitive pool_inside{"cpu.pool.inside", 1, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
