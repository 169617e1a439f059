#include "primitives/cpu/pool/pool_layer.hpp"

#include <algorithm>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/pool_pairs.hpp"
#include "primitives/cpu/pool/pool_rows.hpp"
#include "primitives/cpu/pool/pool_voxels.hpp"

namespace znni::cpu {
namespace {

// Share of the peak rate that loads and stores leave; rows come from the core's own caches.
constexpr double efficiency = 0.04;
// Cycles to start and end the loops of one row; rows are short.
constexpr double cycles_per_row = 150.0;
// Measured shares of the memory's rate if nothing fits the caches. That of pairs is above 1, because non-temporal
// stores are faster than a core's reading rate.
constexpr double memory_share = 0.6;
constexpr double memory_share_of_pairs = 1.1;

// Returns the window positions computed per axis: the offsets of each voxel of the output.
Vec3 computed_positions(const PoolProblem& pool) { return output_shape(pool).n * pooled_offsets(pool); }

// Returns whether one pass suffices (pool_voxels.hpp): for blocked rows and short windows.
bool in_one_pass(const PoolProblem& pool, std::int64_t width) {
  return width > 1 && covers(Vec3::cube(max_pooled), pool.window) && pool.dilation == Vec3::cube(1) &&
         std::max(pool.stride.y, pool.stride.x) <= max_pooled_stride;
}

bool in_pairs(const PoolProblem& pool, std::int64_t width) { return width > 1 && is_of_pairs(pool); }

// Returns the cost of all offsets at once, from the caches.
double paired_flops(const PoolProblem& pool, std::int64_t width, const DeviceSpec& spec) {
  constexpr double cycles_per_vector = 4.0;
  const Shape5 out = output_shape(pool);
  const auto blocks = static_cast<double>(div_up(out.f, width));
  const double vectors = static_cast<double>(out.S * voxels(out.n)) * blocks * static_cast<double>(width / 8);
  const double rows = static_cast<double>(pool.in.S * out.n.z * out.n.y) * blocks;
  return scalar_flops(vectors * cycles_per_vector + rows * cycles_per_row, spec);
}

// Returns the cost of loads, reductions and the store of every voxel, from the caches.
double one_pass_flops(const PoolProblem& pool, std::int64_t width, const DeviceSpec& spec) {
  constexpr double cycles_per_load = 1.0;
  const Vec3 positions = computed_positions(pool);
  const double vectors = static_cast<double>(pool.in.S * div_up(pool.in.f, width) * width / 8);
  const double loads = static_cast<double>(pool.window.z * pool.window.y + pool.window.x + 2);
  const double rows = vectors * static_cast<double>(positions.z * positions.y);
  return scalar_flops(rows * (static_cast<double>(pool.in.n.x) * loads * cycles_per_load + cycles_per_row), spec);
}

double pool_flops(const PoolProblem& pool, std::int64_t width, const DeviceSpec& spec) {
  if (in_pairs(pool, width)) return paired_flops(pool, width, spec);
  if (in_one_pass(pool, width)) return one_pass_flops(pool, width, spec);
  const Vec3 positions = computed_positions(pool);
  const auto blocks = static_cast<double>(pool.in.S * div_up(pool.in.f, width));
  const double rows = blocks * static_cast<double>(positions.z * positions.y);
  const auto steps = static_cast<double>(pool.window.z * pool.window.y + pool.window.x + 1);
  const auto floats = static_cast<double>(pool.in.n.x * width);
  return rows * (floats * steps / efficiency + scalar_flops(cycles_per_row, spec));
}

// Returns the floats of one scratch row, a multiple of the alignment.
std::int64_t row_floats(const PoolProblem& pool, std::int64_t width) {
  return round_up(pool.in.n.x * width, buffer_alignment / static_cast<std::int64_t>(sizeof(float)));
}

class PoolLayer final : public PreparedLayer {
 public:
  PoolLayer(const PoolProblem& pool, Format format, Executor& executor, std::int64_t cache_bytes)
      : pool_(pool),
        cache_bytes_(cache_bytes),
        width_(block_width(format.layout)),
        offsets_(pooled_offsets(pool)),
        positions_(computed_positions(pool)),
        factor_(pool.kind == PoolKind::max ? 1.0F : 1.0F / static_cast<float>(voxels(pool.window))),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::int64_t blocks = div_up(pool_.in.f, width_);
    if (in_pairs(pool_, width_)) {
      run_in_pairs(inputs[0], out, blocks);
      return {};
    }
    if (in_one_pass(pool_, width_)) {
      executor_.parallel_for(pool_.in.S * blocks * positions_.z, [&](std::int64_t index, int) {
        const Place place{index / positions_.z / blocks, index / positions_.z % blocks * width_, index % positions_.z};
        pool_plane_in_one_pass(inputs[0], out, place);
      });
      return {};
    }
    const std::span<float> scratch = arena.grant_as<float>("rows");
    const auto per_worker = static_cast<std::size_t>(2 * row_floats(pool_, width_));
    executor_.parallel_for(pool_.in.S * blocks * positions_.z, [&](std::int64_t index, int worker) {
      const Place place{index / positions_.z / blocks, index / positions_.z % blocks * width_, index % positions_.z};
      pool_plane(inputs[0], out, place, scratch.subspan(static_cast<std::size_t>(worker) * per_worker, per_worker));
    });
    return {};
  }

 private:
  struct Place {
    std::int64_t s;
    std::int64_t channel;
    std::int64_t z;  // index within positions_
  };

  // Returns the first voxel of the row of windows at position (z, y), where positions count all offsets.
  [[nodiscard]] const float* row_at(const TensorView& in, const Place& place, std::int64_t y) const {
    const Vec3 position{place.z, y, 0};
    return &in.at(place.s, place.channel, position / offsets_ * pool_.stride + position % offsets_);
  }

  // Pools planes of the output or, if there are few, some rows of one.
  void run_in_pairs(const TensorView& in, const TensorView& out, std::int64_t blocks) const {
    constexpr std::int64_t parts_per_worker = 4;
    const Vec3 n = out.shape.n;
    const std::int64_t planes = pool_.in.S * blocks * n.z;
    const std::int64_t parts = std::min(n.y, div_up(parts_per_worker * executor_.workers(), planes));
    executor_.parallel_for(planes * parts, [&](std::int64_t index, int) {
      const std::int64_t plane = index / parts;
      const std::int64_t part = index % parts;
      const Place place{plane / n.z / blocks, plane / n.z % blocks * width_, plane % n.z};
      pool_rows_in_pairs(in, out, place, {part * n.y / parts, (part + 1) * n.y / parts});
    });
  }

  struct Rows {
    std::int64_t first;
    std::int64_t last;
  };

  // Pools some rows for all offsets. `place`: z of the output.
  void pool_rows_in_pairs(const TensorView& in, const TensorView& out, const Place& place, Rows rows) const {
    float* to[8];
    for (std::int64_t i = 0; i < voxels(offsets_); ++i) {
      const std::int64_t s = pooled_input(pool_, place.s, fragment_at(i, offsets_));
      to[i] = &out.at(s, place.channel, {place.z, rows.first, 0});
    }
    PairedPlane plane;
    plane.in = &in.at(place.s, place.channel, {place.z * pool_.stride.z, rows.first * pool_.stride.y, 0});
    plane.step_z = in.strides.z;
    plane.step_y = in.strides.y;
    plane.window_z = pool_.window.z;
    plane.offsets = offsets_;
    plane.rows = rows.last - rows.first;
    plane.positions = out.shape.n.x;
    plane.out = to;
    plane.out_step_y = out.strides.y;
    plane.past_caches = goes_past_caches(out, {to, static_cast<std::size_t>(voxels(offsets_))}, cache_bytes_);
    pool_pairs(width_, plane);
    finish_pooling();
  }

  void pool_plane_in_one_pass(const TensorView& in, const TensorView& out, const Place& place) const {
    const Vec3 q = offsets_;
    PooledPlane plane;
    plane.in = row_at(in, place, 0);
    plane.step_z = in.strides.z;
    plane.step_y = in.strides.y;
    plane.window = pool_.window;
    plane.rows = positions_.y;
    plane.positions = std::min(in.shape.n.x - pool_.window.x + 1, pool_.stride.x * out.shape.n.x);
    plane.stride_y = pool_.stride.y;
    plane.kept_y = q.y;
    plane.stride_x = pool_.stride.x;
    plane.kept_x = q.x;
    plane.factor = factor_;
    plane.out_step_y = out.strides.y;
    float* to[max_pooled_stride * max_pooled_stride];
    plane.out = to;
    for (std::int64_t i = 0; i < q.y * q.x; ++i) {
      const std::int64_t s = pooled_input(pool_, place.s, {place.z % q.z, i / q.x, i % q.x});
      to[i] = &out.at(s, place.channel, {place.z / q.z, 0, 0});
    }
    plane.past_caches = goes_past_caches(out, {to, static_cast<std::size_t>(q.y * q.x)}, cache_bytes_);
    pool_voxels(pool_.kind, width_, plane);
    finish_pooling();
  }

  // Pools one plane. `rows`: two scratch rows.
  void pool_plane(const TensorView& in, const TensorView& out, const Place& place, std::span<float> rows) const {
    const std::span<float> row = rows.first(static_cast<std::size_t>(in.shape.n.x * width_));
    const std::span<float> dense =
        rows.subspan(rows.size() / 2).first(static_cast<std::size_t>((in.shape.n.x - spanned(pool_).x + 1) * width_));
    const Vec3 apart = pool_.dilation;
    for (std::int64_t y = 0; y < positions_.y; ++y) {
      pool_rows(pool_.kind, row_at(in, place, y), apart.z * in.strides.z, apart.y * in.strides.y, pool_.window, row);
      pool_along_row(pool_.kind, row, apart.x * width_, pool_.window.x, dense);
      write_row(out, place, y, dense);
    }
  }

  // Distributes one row of dense results to the fragments of its offsets, or keeps every stride-th.
  void write_row(const TensorView& out, const Place& place, std::int64_t y, std::span<const float> dense) const {
    const Vec3 q = offsets_;
    const Vec3 position{place.z / q.z, y / q.y, 0};
    for (std::int64_t x = 0; x < q.x; ++x) {
      const std::int64_t s = pooled_input(pool_, place.s, {place.z % q.z, y % q.y, x});
      const std::span<float> to(&out.at(s, place.channel, position), static_cast<std::size_t>(out.shape.n.x * width_));
      take_voxels(dense, width_, x, pool_.stride.x, factor_, to);
    }
  }

  PoolProblem pool_;
  std::int64_t cache_bytes_;
  std::int64_t width_;
  Vec3 offsets_;
  Vec3 positions_;
  float factor_;
  Executor& executor_;
};

}  // namespace

std::vector<Estimate> describe_pool(const PoolProblem& pool, const DeviceSpec& spec) {
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) {
    const std::int64_t width = block_width(format.layout);
    Estimate estimate;
    estimate.in = format;
    estimate.out = format;
    estimate.memory = input_output_buffers(pool, format, format);
    if (!in_one_pass(pool, width)) {
      const std::int64_t bytes = float_bytes(spec.threads * 2 * row_floats(pool, width));
      estimate.memory.push_back({"rows", MemorySpace::host, bytes, Lifetime::stages(0, 0)});
    }
    const double share = in_pairs(pool, width) ? memory_share_of_pairs : memory_share;
    estimate.time =
        modelled_time(spec, pool_flops(pool, width, spec), 1.0, tensor_traffic(pool, format, format) / share);
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

Result<std::unique_ptr<PreparedLayer>> prepare_pool(const LayerProblem& problem, const Estimate& chosen,
                                                    const LayerWeights&, Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<PoolLayer>(std::get<PoolProblem>(problem), chosen.in,
                                                                    device.executor(), device.spec().l3_bytes));
}

bool goes_past_caches(const TensorView& out, std::span<float* const> to, std::int64_t cache_bytes) {
  constexpr std::int64_t vector_bytes = 32;
  const auto is_aligned = [](const float* at) { return reinterpret_cast<std::intptr_t>(at) % vector_bytes == 0; };
  return float_bytes(out.shape.S * out.strides.S) > cache_bytes && float_bytes(out.strides.y) % vector_bytes == 0 &&
         std::all_of(to.begin(), to.end(), is_aligned);
}

std::int64_t pooled_input(const PoolProblem& pool, std::int64_t s, Vec3 offset) {
  if (pool.mode == PoolMode::plain) return s;
  const std::int64_t before = voxels(pool.fragments);
  const Vec3 index = offset * pool.fragments + fragment_at(s % before, pool.fragments);
  const Vec3 offsets = pooled_offsets(pool);
  return s / before * before * voxels(offsets) + fragment_index(index, pool.fragments * offsets);
}

}  // namespace znni::cpu
