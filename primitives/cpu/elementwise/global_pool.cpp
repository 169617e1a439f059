// cpu.global_pool: the largest or the mean of all voxels of each channel, at every voxel. One pass over the input pools
// each channel's planes, in float64 so that sums lose nothing; then the output is filled. Planes are pooled in the same
// order for any number of workers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view planes_name = "pooled planes";
constexpr std::string_view channels_name = "pooled channels";
constexpr double global_pool_instructions = 6.0;  // a vector: conversions and sums; a store

std::int64_t padded_channels(const Shape5& shape, Format format) {
  return round_up(shape.f, block_width(format.layout));
}

Result<std::vector<Estimate>> describe_global_pool(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<GlobalPoolProblem>(&problem);
  if (pool == nullptr) return refusal("cpu.global_pool", "poolings of all voxels", problem);
  std::vector<Estimate> estimates =
      streaming_estimates(problem, spec, float_formats(spec), vector_flops(global_pool_instructions, spec));
  for (Estimate& estimate : estimates) {
    const std::int64_t channels = mul(pool->in.S, padded_channels(pool->in, estimate.in));
    const std::int64_t planes = mul(mul(channels, pool->in.n.z), static_cast<std::int64_t>(sizeof(double)));
    estimate.memory.push_back({std::string(planes_name), MemorySpace::host, planes, Lifetime::stages(0, 0)});
    estimate.memory.push_back(
        {std::string(channels_name), MemorySpace::host, float_bytes(channels), Lifetime::stages(0, 0)});
  }
  return estimates;
}

double min_of(PoolKind kind) { return kind == PoolKind::max ? -std::numeric_limits<double>::infinity() : 0.0; }

// Returns the larger of two values; NaN if one of them is.
double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }

double pooled(PoolKind kind, double a, double b) { return kind == PoolKind::max ? larger(a, b) : a + b; }

// Adds a row of whole voxels of `lanes` lanes to what is pooled of each lane. A row of one lane is pooled as if it had
// 16, which are pooled at the end.
template <PoolKind kind, std::size_t lanes>
void pool_row(std::span<const float> row, std::span<double> of_lanes) {
  std::array<double, lanes> own{};
  own.fill(min_of(kind));
  const std::size_t whole = row.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      own[lane] = pooled(kind, own[lane], static_cast<double>(row[i + lane]));
    }
  }
  for (std::size_t i = whole; i < row.size(); ++i) {
    own[i - whole] = pooled(kind, own[i - whole], static_cast<double>(row[i]));
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    double& all = of_lanes[lane % of_lanes.size()];
    all = pooled(kind, all, own[lane]);
  }
}

template <PoolKind kind>
void pool_row_of(std::span<const float> row, std::span<double> of_lanes) {
  if (of_lanes.size() == 8) return pool_row<kind, 8>(row, of_lanes);
  pool_row<kind, 16>(row, of_lanes);
}

// Fills whole voxels; `values` has one number per lane.
void fill_run(std::span<float> to, std::span<const float> values) {
  if (values.size() == 1) return std::fill(to.begin(), to.end(), values.front());
  for (auto voxel = to.begin(); voxel != to.end(); voxel += std::ssize(values)) {
    std::copy(values.begin(), values.end(), voxel);
  }
}

class GlobalPoolLayer final : public PreparedLayer {
 public:
  GlobalPoolLayer(const GlobalPoolProblem& problem, Format format, Executor& executor)
      : problem_(problem),
        width_(block_width(format.layout)),
        blocks_(div_up(problem.in.f, width_)),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<double> planes = arena.grant_as<double>(planes_name);
    const std::span<float> channels = arena.grant_as<float>(channels_name);
    pool_planes(inputs[0], planes);
    pool_channels(planes, channels);
    for_each_run(executor_, out, {}, blocks_, [&](const Run& run, int) {
      fill_run(run_of(out, run), lanes_of(std::span<const float>(channels), run.s * blocks_ + run.block));
    });
    return {};
  }

 private:
  // Returns those of `number`, one per lane.
  template <class Entry>
  [[nodiscard]] std::span<Entry> lanes_of(std::span<Entry> all, std::int64_t number) const {
    return all.subspan(static_cast<std::size_t>(number * width_), static_cast<std::size_t>(width_));
  }

  // Writes what is pooled of every plane: [S][blocks][z][lanes].
  void pool_planes(const TensorView& in, std::span<double> planes) {
    const Vec3 n = problem_.in.n;
    const auto pool = problem_.kind == PoolKind::max ? &pool_row_of<PoolKind::max> : &pool_row_of<PoolKind::average>;
    executor_.parallel_for(problem_.in.S * blocks_ * n.z, [&](std::int64_t index, int) {
      const std::span<double> own = lanes_of(planes, index);
      std::fill(own.begin(), own.end(), min_of(problem_.kind));
      Run run{index / n.z / blocks_, index / n.z % blocks_, {index % n.z, 0, 0}, n.x * width_};
      for (; run.start.y < n.y; ++run.start.y) pool(run_of(in, run), own);
    });
  }

  // Writes what is pooled of every channel: [S][blocks][lanes]; 0 for padding channels.
  void pool_channels(std::span<const double> planes, std::span<float> channels) const {
    for (std::int64_t block = 0; block < problem_.in.S * blocks_; ++block) {
      const std::span<float> of_lanes = lanes_of(channels, block);
      for (std::size_t lane = 0; lane < of_lanes.size(); ++lane) {
        const bool is_padding = block % blocks_ * width_ + static_cast<std::int64_t>(lane) >= problem_.in.f;
        of_lanes[lane] = is_padding ? 0.0F : pooled_lane(planes, block, lane);
      }
    }
  }

  [[nodiscard]] float pooled_lane(std::span<const double> planes, std::int64_t block, std::size_t lane) const {
    double all = min_of(problem_.kind);
    for (std::int64_t z = 0; z < problem_.in.n.z; ++z) {
      all = pooled(problem_.kind, all, lanes_of(planes, block * problem_.in.n.z + z)[lane]);
    }
    const double count = problem_.kind == PoolKind::max ? 1.0 : static_cast<double>(voxels(problem_.in.n));
    return static_cast<float>(all / count);
  }

  GlobalPoolProblem problem_;
  std::int64_t width_;   // lanes of a block
  std::int64_t blocks_;  // of an input
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_global_pool(const LayerProblem& problem, const Estimate& chosen,
                                                           const LayerWeights&, Arena&, Device& device) {
  const auto& pool = std::get<GlobalPoolProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<GlobalPoolLayer>(pool, chosen.in, device.executor()));
}

}  // namespace

extern constinit const Primitive global_pool{"cpu.global_pool", 1, DeviceKind::cpu, &describe_global_pool,
                                             &prepare_global_pool};

}  // namespace znni::cpu
