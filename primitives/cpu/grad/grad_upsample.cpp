// cpu.grad.upsample: the gradient of upsamplings that repeat voxels or interpolate between neighbours. An input voxel
// has the sum of the gradients of all output voxels that read it, by their shares. Shares multiply over the axes: rows
// of the output's gradient are added along z and y first, in the worker's own scratch, then along x. A row has one
// owner, so sums run in a fixed order.
#include <algorithm>
#include <array>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view scratch_name = "rows";

// An output voxel that reads an input voxel, along one axis.
struct Reader {
  std::int64_t output = 0;
  float share = 1;
};
using Readers = std::vector<std::vector<Reader>>;  // per input voxel

Readers readers_nearest(std::int64_t n, std::int64_t factor) {
  Readers readers(static_cast<std::size_t>(n));
  for (std::int64_t v = 0; v < n * factor; ++v) readers[static_cast<std::size_t>(v / factor)].push_back({v, 1});
  return readers;
}

// Returns the readers by the formula of UpsampleProblem.
Readers readers_linear(std::int64_t n, std::int64_t factor) {
  if (factor == 1) return readers_nearest(n, 1);
  Readers readers(static_cast<std::size_t>(n));
  for (std::int64_t v = 0; v < (n - 2) * factor; ++v) {
    const double at = (static_cast<double>(v % factor) + 0.5) / static_cast<double>(factor) + 0.5;
    const auto near = static_cast<std::int64_t>(at);
    const auto share = static_cast<float>(at - static_cast<double>(near));
    const auto first = static_cast<std::size_t>(v / factor + near);
    readers[first].push_back({v, 1 - share});
    readers[first + 1].push_back({v, share});
  }
  return readers;
}

Readers readers_of(const UpsampleProblem& upsample, int axis) {
  const std::int64_t n = upsample.in.n[axis];
  const std::int64_t factor = upsample.factor[axis];
  return upsample.kind == UpsampleKind::nearest ? readers_nearest(n, factor) : readers_linear(n, factor);
}

// Returns how many output voxels along an axis read an input voxel, at most.
std::int64_t max_readers(const UpsampleProblem& upsample, int axis) {
  const std::int64_t factor = upsample.factor[axis];
  return upsample.kind == UpsampleKind::nearest || factor == 1 ? factor : 2 * factor;
}

// Returns the floats of a worker's scratch.
std::int64_t row_floats(const UpsampleProblem& upsample, Format format) {
  return mul(output_shape(upsample).n.x, block_width(format.layout));
}

Result<std::vector<Estimate>> describe_upsample(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* upsample = std::get_if<UpsampleProblem>(&problem.layer);
  const bool suits =
      upsample != nullptr && (upsample->kind == UpsampleKind::nearest || upsample->kind == UpsampleKind::linear);
  if (!suits) return refusal("cpu.grad.upsample", "gradients of nearest and linear upsamplings", problem);
  const auto rows = static_cast<double>(mul(max_readers(*upsample, 0), max_readers(*upsample, 1)));
  const double along_x = scalar_flops(static_cast<double>(max_readers(*upsample, 2)), spec);
  const double flops = vector_flops(2.0 * rows * static_cast<double>(upsample->factor.x), spec) + along_x;
  std::vector<Estimate> estimates = streaming_gradients(problem, spec, float_formats(spec), flops);
  for (Estimate& estimate : estimates) {
    const std::int64_t floats = mul(spec.threads, row_floats(*upsample, estimate.in));
    estimate.memory.push_back(
        {std::string(scratch_name), MemorySpace::host, float_bytes(floats), Lifetime::stages(0, 0)});
  }
  return estimates;
}

class UpsampleGradient final : public PreparedGradient {
 public:
  UpsampleGradient(const UpsampleProblem& problem, Format format, Executor& executor)
      : width_(block_width(format.layout)), row_floats_(row_floats(problem, format)), executor_(executor) {
    for (int axis = 0; axis < 3; ++axis) readers_[static_cast<std::size_t>(axis)] = readers_of(problem, axis);
  }

  Result<void> run(const GradientViews& views, Arena& arena) override {
    const std::span<float> scratch = arena.grant_as<float>(scratch_name);
    const std::int64_t blocks = blocks_of(views.gradient);
    const Vec3 n = views.gradient.shape.n;
    executor_.parallel_for(views.gradient.shape.S * blocks * n.z, [&](std::int64_t index, int worker) {
      const std::span<float> row =
          scratch.subspan(static_cast<std::size_t>(worker * row_floats_), static_cast<std::size_t>(row_floats_));
      Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, n.x * width_};
      for (; run.start.y < n.y; ++run.start.y) {
        add_rows(views.output, run, row);
        add_voxels(row, run_of(views.gradient, run));
      }
    });
    return {};
  }

 private:
  [[nodiscard]] const std::vector<Reader>& readers(int axis, std::int64_t v) const {
    return readers_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(v)];
  }

  // Adds the rows of the output's gradient that read the input's row.
  void add_rows(const TensorView& output, const Run& run, std::span<float> sums) const {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (const Reader& z : readers(0, run.start.z)) {
      for (const Reader& y : readers(1, run.start.y)) {
        const float share = z.share * y.share;
        const float* const from = &output.at(run.s, run.block * width_, {z.output, y.output, 0});
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += share * from[i];
      }
    }
  }

  // Adds along x what reads each voxel of the row `to`.
  void add_voxels(std::span<const float> sums, std::span<float> to) const {
    std::fill(to.begin(), to.end(), 0.0F);
    float* voxel = to.data();
    for (const std::vector<Reader>& own : readers_[2]) {
      for (const Reader& reader : own) {
        const float* const from = sums.data() + reader.output * width_;
        for (std::int64_t lane = 0; lane < width_; ++lane) voxel[lane] += reader.share * from[lane];
      }
      voxel += width_;
    }
  }

  std::int64_t width_;
  std::int64_t row_floats_;
  std::array<Readers, 3> readers_;  // per axis
  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_upsample(const GradientProblem& problem, const Estimate& chosen,
                                                           const LayerWeights&, Arena&, Device& device) {
  const auto& upsample = std::get<UpsampleProblem>(problem.layer);
  return std::unique_ptr<PreparedGradient>(std::make_unique<UpsampleGradient>(upsample, chosen.in, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_upsample{"cpu.grad.upsample", 1, DeviceKind::cpu, &describe_upsample,
                                                       &prepare_upsample};

}  // namespace znni::cpu
