// cpu.grad.pool_inside: gradients of averages of the voxels that lie inside the volume; the others are -infinity. Each
// window's gradient is divided by the number of its voxels inside. Then each voxel adds up these shares of all windows
// that hold it, in a fixed order: a row has one owner, and the result does not depend on the workers.
#include <algorithm>
#include <limits>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view inside_name = "cpu.grad.pool_inside";
constexpr std::string_view shares_name = "shares of windows";
constexpr float outside = -std::numeric_limits<float>::infinity();
// Instructions per window voxel of an element, to count it and to add its share.
constexpr double inside_instructions = 6.0;

Result<std::vector<Estimate>> describe_inside(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem.layer);
  if (pool == nullptr || pool->kind != PoolKind::average_inside || pool->mode != PoolMode::plain) {
    return refusal(inside_name, "gradients of plain average poolings of what lies inside", problem);
  }
  const Shape5 out = output_shape(*pool);
  const double held = static_cast<double>(elements(out)) * static_cast<double>(voxels(pool->window));
  const double per_element = held / static_cast<double>(elements(pool->in)) * vector_flops(inside_instructions, spec);
  std::vector<Estimate> estimates = streaming_gradients(problem, spec, float_formats(spec), per_element);
  for (Estimate& estimate : estimates) {
    const std::int64_t bytes = tensor_bytes(out, estimate.in);
    estimate.memory.push_back({std::string(shares_name), MemorySpace::host, bytes, Lifetime::stages(0, 0)});
  }
  return estimates;
}

// Windows of a row, `stride` voxels apart; both have `width` lanes.
struct WindowRow {
  std::int64_t windows = 0;
  std::int64_t stride = 1;
  std::int64_t width = 1;

  // Calls body(i, j) for float i of the windows, and float j of the voxels at one place in them.
  template <class Body>
  void for_each_float(const Body& body) const {
    if (stride == 1) {
      for (std::int64_t i = 0; i < windows * width; ++i) body(i, i);
      return;
    }
    for (std::int64_t window = 0; window < windows; ++window) {
      for (std::int64_t i = 0; i < width; ++i) body(window * width + i, window * stride * width + i);
    }
  }
};

// Returns the window that has voxel d of its own at voxel v of an axis; -1 if there is none.
std::int64_t window_at(const PoolProblem& pool, int axis, std::int64_t v, std::int64_t d) {
  const std::int64_t first = v - d * pool.dilation[axis];
  if (first < 0 || first % pool.stride[axis] != 0) return -1;
  const std::int64_t window = first / pool.stride[axis];
  return window < output_shape(pool).n[axis] ? window : -1;
}

class InsideGradient final : public PreparedGradient {
 public:
  InsideGradient(const PoolProblem& pool, std::int64_t width, Executor& executor)
      : pool_(pool), out_(output_shape(pool)), row_{out_.n.x, pool.stride.x, width}, executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    const TensorView shares = dense_view(arena.grant_as<float>(shares_name).data(), out_, views.output.format);
    for_each_row(out_, [&](const Run& run) { share_row(views, run, run_of(shares, run)); });
    for_each_row(pool_.in, [&](const Run& run) { add_row(views, shares, run); });
    return {};
  }

 private:
  // Calls body(run) for every row of a tensor of that shape.
  template <class Body>
  void for_each_row(const Shape5& shape, const Body& body) const {
    const Vec3 n = shape.n;
    const std::int64_t blocks = div_up(shape.f, row_.width);
    executor_.parallel_for(shape.S * blocks * n.z, [&](std::int64_t index, int) {
      Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, n.x * row_.width};
      for (; run.start.y < n.y; ++run.start.y) body(run);
    });
  }

  // Writes the shares of a row of windows: the gradient over the number of voxels inside, 0 if there are none.
  void share_row(const GradientViews& views, const Run& run, std::span<float> shares) const {
    std::fill(shares.begin(), shares.end(), 0.0F);
    const Vec3 k = pool_.window;
    for (std::int64_t i = 0; i < voxels(k); ++i) {
      const Vec3 d{i / (k.y * k.x), i / k.x % k.y, i % k.x};
      const float* const from =
          &views.saved.at(run.s, run.block * row_.width, run.start * pool_.stride + d * pool_.dilation);
      row_.for_each_float([&](std::int64_t w, std::int64_t v) { shares[at(w)] += from[v] == outside ? 0.0F : 1.0F; });
    }
    const std::span<const float> output = run_of(views.output, run);
    for (std::size_t w = 0; w < shares.size(); ++w) shares[w] = shares[w] > 0.0F ? output[w] / shares[w] : 0.0F;
  }

  // Writes a row of the gradient; voxels outside have none.
  void add_row(const GradientViews& views, const TensorView& shares, const Run& run) const {
    const std::span<float> to = run_of(views.gradient, run);
    std::fill(to.begin(), to.end(), 0.0F);
    for (std::int64_t i = 0; i < pool_.window.z * pool_.window.y; ++i) {
      const std::int64_t z = window_at(pool_, 0, run.start.z, i / pool_.window.y);
      const std::int64_t y = window_at(pool_, 1, run.start.y, i % pool_.window.y);
      if (z < 0 || y < 0) continue;
      const float* const from = &shares.at(run.s, run.block * row_.width, {z, y, 0});
      for (std::int64_t d = 0; d < pool_.window.x; ++d) {
        float* const first = to.data() + d * pool_.dilation.x * row_.width;
        row_.for_each_float([&](std::int64_t w, std::int64_t v) { first[v] += from[w]; });
      }
    }
    const std::span<const float> saved = run_of(views.saved, run);
    for (std::size_t v = 0; v < to.size(); ++v) to[v] = saved[v] == outside ? 0.0F : to[v];
  }

  static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

  PoolProblem pool_;
  Shape5 out_;
  WindowRow row_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_inside(const GradientProblem& problem, const Estimate& chosen,
                                                         const LayerWeights&, Arena&, Device& device) {
  const std::int64_t width = block_width(chosen.in.layout);
  return std::unique_ptr<PreparedGradient>(
      std::make_unique<InsideGradient>(std::get<PoolProblem>(problem.layer), width, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_pool_inside{inside_name, 1, DeviceKind::cpu, &describe_inside,
                                                          &prepare_inside};

}  // namespace znni::cpu
