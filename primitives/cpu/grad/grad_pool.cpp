// cpu.grad.pool: gradients of poolings, plain and MPF, dilated or not. Each input voxel gathers from the windows that
// hold it, in a fixed order, so that a row has one owner and the result does not depend on the workers. For max
// poolings stage 0 finds the position of each window's first maximum, a byte per output voxel, and stage 1 gathers. The
// input of the layer is read in stage 0 alone, the gradient is written in stage 1.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/first_maxima.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view pool_name = "cpu.grad.pool";
constexpr std::string_view maxima_name = "first maxima";
constexpr std::int64_t floats_of_line = 16;  // of a cache
// Measured instructions per window voxel of an element, of both stages: load, compare, choose. A row of windows and a
// row of voxels cost some cycles, however short.
constexpr double pool_instructions = 9.0;
constexpr double cycles_per_row = 300.0;

double rows_of(const Shape5& shape, Format format) {
  const std::int64_t blocks = div_up(shape.f, block_width(format.layout));
  return static_cast<double>(shape.S * blocks * shape.n.z * shape.n.y);
}

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

Result<std::vector<Estimate>> describe_pool(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem.layer);
  if (pool == nullptr || pool->kind == PoolKind::average_inside) {
    return refusal(pool_name, "gradients of poolings of all voxels of a window", problem);
  }
  const auto windows = static_cast<double>(elements(output_shape(problem.layer)));
  const double flops = windows * static_cast<double>(voxels(pool->window)) * vector_flops(pool_instructions, spec);
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) {
    Estimate estimate;
    estimate.in = estimate.out = format;
    estimate.memory = pool_memory(problem, format);
    const double rows = rows_of(pool->in, format) + rows_of(output_shape(problem.layer), format);
    estimate.time = modelled_time(spec, flops + rows * scalar_flops(cycles_per_row, spec), 1.0,
                                  gradient_traffic(problem, format, format));
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

// Along one axis: the window, of the fragment at `offset`, whose voxel d is a voxel of the input.
struct Hold {
  std::int64_t offset = 0;
  std::int64_t d = 0;
  std::int64_t window = 0;
};

// Returns per voxel of the input along an axis the windows that hold it, first offsets first.
std::vector<std::vector<Hold>> holds_of(const PoolProblem& pool, int axis) {
  const std::int64_t stride = pool.stride[axis];
  const std::int64_t out = output_shape(pool).n[axis];
  std::vector<std::vector<Hold>> holds(static_cast<std::size_t>(pool.in.n[axis]));
  for (std::int64_t offset = 0; offset < pooled_offsets(pool)[axis]; ++offset) {
    for (std::int64_t window = 0; window < out; ++window) {
      for (std::int64_t d = 0; d < pool.window[axis]; ++d) {
        const std::int64_t voxel = offset + window * stride + d * pool.dilation[axis];
        holds[static_cast<std::size_t>(voxel)].push_back({offset, d, window});
      }
    }
  }
  return holds;
}

// A row of windows that hold voxels of a row of the input: window v holds the (first + v)th of every stride-th voxel.
struct Source {
  const float* from = nullptr;       // gradients of the windows
  const Position* maxima = nullptr;  // nullptr: all voxels of a window count
  Position position = 0;             // of the voxel in its window
  std::int64_t first = 0;
};

// Returns the gradient of a vector of voxels, of windows from float `at` of the source on.
template <bool of_maxima>
Simd8::V taken(const Source& source, std::int64_t at) {
  const Simd8::V value = Simd8::load(source.from + at);
  if constexpr (!of_maxima) return value;
  Eighth positions;
  std::memcpy(&positions, source.maxima + at, sizeof(positions));
  const Signs same = positions == Eighth{} + source.position;
  return __builtin_convertvector(same, Mask) ? value : Simd8::V{};
}

// Where sums are written: past the caches only whole lines, which follow no earlier read.
template <std::int64_t width, bool past_caches>
void put(float* to, Simd8::V value) {
  if constexpr (past_caches && width == 2 * Simd8::lanes) {
    Simd8::stream(to, value);
  } else {
    Simd8::store(to, value);
  }
}

// Sums the sources of voxels x in [begin, end), `step` floats apart in `to`, whose windows are all there. `count`
// sources, which the compiler knows; 0 stands for any.
template <std::int64_t width, std::size_t count, bool of_maxima, bool past_caches>
void gather_inside(std::span<const Source> all, std::int64_t begin, std::int64_t end, std::int64_t step, float* to) {
  std::conditional_t<count == 0, std::span<const Source>, std::array<Source, count>> sources;
  if constexpr (count == 0) {
    sources = all;
  } else {
    std::copy(all.begin(), all.end(), sources.begin());
  }
  for (std::int64_t x = begin; x < end; ++x) {
    for (std::int64_t lane = 0; lane < width; lane += Simd8::lanes) {
      Simd8::V sum = {};
      for (const Source& source : sources) sum += taken<of_maxima>(source, (x - source.first) * width + lane);
      put<width, past_caches>(to + x * step + lane, sum);
    }
  }
}

template <std::int64_t width>
class PoolGradient final : public PreparedGradient {
 public:
  PoolGradient(const PoolProblem& pool, bool past_caches, Executor& executor)
      : pool_(pool),
        past_caches_(past_caches),
        out_(output_shape(pool)),
        executor_(executor),
        offsets_(pooled_offsets(pool)),
        holds_z_(holds_of(pool, 0)),
        holds_y_(holds_of(pool, 1)) {
    for (std::int64_t i = 0; i < pool.in.S * voxels(offsets_); ++i) {
      made_.push_back(pooled_input(pool, i / voxels(offsets_), fragment_at(i % voxels(offsets_), offsets_)));
    }
  }

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
      std::vector<Source> sources;
      for (std::int64_t y = 0; y < n.y; ++y) {
        const Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, y, 0}, n.x * width};
        if (y + 1 < n.y) fetch_ahead(views.output, run);
        gather_row(views, run, sources);
      }
      if constexpr (width == 2 * Simd8::lanes) Simd8::fence();
    });
    return {};
  }

 private:
  // Returns the output that the pooling at `offset` of input s writes: pooled_input().
  std::int64_t made(std::int64_t s, Vec3 offset) const {
    return made_[static_cast<std::size_t>(s * voxels(offsets_) + fragment_index(offset, offsets_))];
  }

  // Returns the positions of a row of maxima.
  Position* maxima_row(std::int64_t s, std::int64_t block, std::int64_t z, std::int64_t y) const {
    const std::int64_t blocks = div_up(out_.f, width);
    return maxima_ + (((s * blocks + block) * out_.n.z + z) * out_.n.y + y) * out_.n.x * width;
  }

  // Finds the first maxima of all windows. A task has all windows that begin in one plane of the input, of all offsets
  // along y and x, so that each plane is read from memory once per plane of a window.
  void find_maxima(const TensorView& in) const {
    const std::int64_t blocks = blocks_of(in);
    std::vector<std::int64_t> places;
    for_each_position(pool_.window, [&](Vec3 d, Position) {
      const Vec3 apart = d * pool_.dilation;
      places.push_back(apart.z * in.strides.z + apart.y * in.strides.y + apart.x * width);
    });
    const auto find = places.size() == 8   ? &find_row<width, 8>
                      : places.size() == 4 ? &find_row<width, 4>
                                           : &find_row<width, 0>;
    const std::int64_t planes = offsets_.z * out_.n.z;
    executor_.parallel_for(pool_.in.S * blocks * planes, [&](std::int64_t index, int) {
      const std::int64_t plane = index % planes;
      const std::int64_t block = index / planes % blocks;
      const std::int64_t s = index / planes / blocks;
      for (std::int64_t row = 0; row < offsets_.y * offsets_.x * out_.n.y; ++row) {
        const Vec3 offset{plane % offsets_.z, row / offsets_.x % offsets_.y, row % offsets_.x};
        const Vec3 window{plane / offsets_.z, row / offsets_.x / offsets_.y, 0};
        find(places, &in.at(s, block * width, window * pool_.stride + offset), out_.n.x, pool_.stride.x * width,
             maxima_row(made(s, offset), block, window.z, window.y));
      }
    });
  }

  // Prefetches the rows of windows that begin in the row behind the run.
  void fetch_ahead(const TensorView& output, const Run& run) const {
    for (const Hold& z : holds_z_[static_cast<std::size_t>(run.start.z)]) {
      for (const Hold& y : holds_y_[static_cast<std::size_t>(run.start.y + 1)]) {
        if (y.d > 0) continue;
        for (std::int64_t offset = 0; offset < offsets_.x; ++offset) {
          const std::int64_t s = made(run.s, {z.offset, y.offset, offset});
          const float* const from = &output.at(s, run.block * width, {z.window, y.window, 0});
          for (std::int64_t at = 0; at < out_.n.x * width; at += floats_of_line) Simd8::prefetch(from + at);
          if (maxima_ == nullptr) continue;
          const Position* const maxima = maxima_row(s, run.block, z.window, y.window);
          for (std::int64_t at = 0; at < out_.n.x * width; at += 4 * floats_of_line) Simd8::prefetch(maxima + at);
        }
      }
    }
  }

  // Gathers a row of the input's gradient from all windows that hold its voxels.
  void gather_row(const GradientViews& views, const Run& run, std::vector<Source>& sources) const {
    const std::span<float> to = run_of(views.gradient, run);
    for (std::int64_t begin = 0; begin < std::min(pool_.stride.x, pool_.in.n.x); ++begin) {
      sources.clear();
      for (const Hold& z : holds_z_[static_cast<std::size_t>(run.start.z)]) {
        for (const Hold& y : holds_y_[static_cast<std::size_t>(run.start.y)]) {
          add_sources(views.output, run, z, y, begin, sources);
        }
      }
      gather_every(sources, div_up(pool_.in.n.x - begin, pool_.stride.x), to.data() + begin * width);
    }
    if (pool_.kind == PoolKind::max) return;
    const float share = 1.0F / static_cast<float>(voxels(pool_.window));
    for (float& value : to) value *= share;
  }

  // Appends the rows of windows that hold every stride-th voxel of the run from `begin` on.
  void add_sources(const TensorView& output, const Run& run, const Hold& z, const Hold& y, std::int64_t begin,
                   std::vector<Source>& sources) const {
    const Vec3 row{z.window, y.window, 0};
    for (std::int64_t offset = 0; offset < offsets_.x; ++offset) {
      const std::int64_t s = made(run.s, {z.offset, y.offset, offset});
      for (std::int64_t d = 0; d < pool_.window.x; ++d) {
        const std::int64_t x = offset + d * pool_.dilation.x;
        if (x % pool_.stride.x != begin) continue;
        const Position* const maxima = maxima_ == nullptr ? nullptr : maxima_row(s, run.block, row.z, row.y);
        const auto position = static_cast<Position>((z.d * pool_.window.y + y.d) * pool_.window.x + d);
        sources.push_back({&output.at(s, run.block * width, row), maxima, position, x / pool_.stride.x});
      }
    }
  }

  // Sums the sources of `count` voxels of a row, stride.x apart. Windows of some sources end before those voxels, or
  // begin behind them.
  void gather_every(std::span<const Source> sources, std::int64_t count, float* to) const {
    std::int64_t begin = 0;
    std::int64_t end = count;
    for (const Source& source : sources) {
      begin = std::max(begin, source.first);
      end = std::min(end, source.first + out_.n.x);
    }
    begin = std::min(begin, count);
    end = std::max(begin, end);
    const std::int64_t step = pool_.stride.x * width;
    gather_outside(sources, 0, begin, to);
    if constexpr (width > 1) {
      const bool is_of_maxima = maxima_ != nullptr;
      const auto gather = !is_of_maxima         ? &gather_inside<width, 0, false, false>
                          : sources.size() != 8 ? &gather_inside<width, 0, true, false>
                          : past_caches_        ? &gather_inside<width, 8, true, true>
                                                : &gather_inside<width, 8, true, false>;
      gather(sources, begin, end, step, to);
    } else {
      gather_outside(sources, begin, end, to);
    }
    gather_outside(sources, end, count, to);
  }

  // The same for voxels x in [begin, end), of which not every source has a window.
  void gather_outside(std::span<const Source> sources, std::int64_t begin, std::int64_t end, float* to) const {
    for (std::int64_t x = begin; x < end; ++x) {
      float* const voxel = to + x * pool_.stride.x * width;
      if constexpr (width == 1) {
        *voxel = gathered(sources, x);
      } else {
        for (std::int64_t i = 0; i < width; i += Simd8::lanes) Simd8::store(voxel + i, gathered(sources, x, i));
      }
    }
  }

  [[nodiscard]] float gathered(std::span<const Source> sources, std::int64_t x) const {
    float sum = 0.0F;
    for (const Source& source : sources) {
      const std::int64_t v = x - source.first;
      if (v < 0 || v >= out_.n.x) continue;
      if (source.maxima == nullptr || source.maxima[v] == source.position) sum += source.from[v];
    }
    return sum;
  }

  [[nodiscard]] Simd8::V gathered(std::span<const Source> sources, std::int64_t x, std::int64_t lane) const {
    Simd8::V sum = {};
    for (const Source& source : sources) {
      const std::int64_t v = x - source.first;
      if (v < 0 || v >= out_.n.x) continue;
      const std::int64_t at = v * width + lane;
      sum += source.maxima == nullptr ? taken<false>(source, at) : taken<true>(source, at);
    }
    return sum;
  }

  PoolProblem pool_;
  bool past_caches_;
  Shape5 out_;
  Executor& executor_;
  Vec3 offsets_;
  std::vector<std::int64_t> made_;  // [input][offset]
  std::vector<std::vector<Hold>> holds_z_;
  std::vector<std::vector<Hold>> holds_y_;
  Position* maxima_ = nullptr;
};

Result<std::unique_ptr<PreparedGradient>> prepare_pool(const GradientProblem& problem, const Estimate& chosen,
                                                       const LayerWeights&, Arena&, Device& device) {
  const auto& pool = std::get<PoolProblem>(problem.layer);
  // What the workers' caches do not hold is written past them.
  const std::int64_t bytes = tensor_bytes(gradient_shape(problem), chosen.out);
  const bool past_caches = bytes > device.spec().l2_bytes * device.spec().threads;
  using Made = std::unique_ptr<PreparedGradient>;
  switch (block_width(chosen.in.layout)) {
    case 16: return Made(std::make_unique<PoolGradient<16>>(pool, past_caches, device.executor()));
    case 8: return Made(std::make_unique<PoolGradient<8>>(pool, past_caches, device.executor()));
    default: return Made(std::make_unique<PoolGradient<1>>(pool, past_caches, device.executor()));
  }
}

}  // namespace

extern constinit const GradientPrimitive grad_pool{pool_name, 4, DeviceKind::cpu, &describe_pool, &prepare_pool};

}  // namespace znni::cpu
