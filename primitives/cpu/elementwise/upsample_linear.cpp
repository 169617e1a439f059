// cpu.upsample.linear: a tensor with more voxels per axis, interpolated between neighbours. An output row lies between
// two input rows along y and between two along z. These are blended first, a part at a time that stays in the core's
// own cache, because the input has fewer voxels along x; then neighbours along x. Every voxel is computed by the same
// operations wherever it lies in a view, so that all patches agree.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/blend.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

constexpr std::size_t max_floats = 1024;  // of a blended part of a row

Result<std::vector<Estimate>> describe_upsample_linear(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* upsample = std::get_if<UpsampleProblem>(&problem);
  if (upsample == nullptr || upsample->kind != UpsampleKind::linear) {
    return refusal("cpu.upsample.linear", "linear upsamplings", problem);
  }
  // Rows are blended once for all voxels that are made along x. Measured: 10 cycles a vector where these are two.
  const double cycles = 5.0 + 10.0 / static_cast<double>(upsample->factor.x);
  return streaming_estimates(problem, spec, float_formats(spec), vector_flops(cycles, spec));
}

// Place of an output voxel: `share` of the way from input voxel `near` to `far`, of those around one input voxel.
struct Phase {
  std::int64_t near = 0;
  std::int64_t far = 0;
  float share = 0;
};

std::vector<Phase> phases_of(std::int64_t factor) {
  std::vector<Phase> phases(static_cast<std::size_t>(factor));
  for (std::int64_t r = 0; factor > 1 && r < factor; ++r) {
    const double at = (static_cast<double>(r) + 0.5) / static_cast<double>(factor) + 0.5;
    const auto near = static_cast<std::int64_t>(at);
    phases[static_cast<std::size_t>(r)] = {near, near + 1, static_cast<float>(at - static_cast<double>(near))};
  }
  return phases;
}

// Writes what `voxels` voxels of `width` floats become along x; `row` has one more on either side.
using Spread = void (*)(const float* row, std::int64_t voxels, std::span<const Phase> phases, float* to);

template <std::int64_t width, std::size_t count>
void spread_few(const float* row, std::int64_t voxels, std::span<const Phase> phases, float* __restrict to) {
  std::array<Phase, count> own{};
  std::copy_n(phases.begin(), count, own.begin());
  for (std::int64_t x = 0; x < voxels; ++x) {
    for (const Phase& phase : own) {
      const float* const near = row + (x + phase.near) * width;
      for (std::int64_t lane = 0; lane < width; ++lane) *to++ = between(near[lane], near[width + lane], phase.share);
    }
  }
}

template <std::int64_t width>
void spread_any(const float* row, std::int64_t voxels, std::span<const Phase> phases, float* __restrict to) {
  for (std::int64_t x = 0; x < voxels; ++x) {
    for (const Phase& phase : phases) {
      const float* const near = row + (x + phase.near) * width;
      for (std::int64_t lane = 0; lane < width; ++lane) *to++ = between(near[lane], near[width + lane], phase.share);
    }
  }
}

template <std::int64_t width>
Spread spread_of(std::int64_t factor) {
  constexpr std::array<Spread, 3> few = {&spread_few<width, 2>, &spread_few<width, 3>, &spread_few<width, 4>};
  return factor >= 2 && factor <= 4 ? few[static_cast<std::size_t>(factor - 2)] : &spread_any<width>;
}

Spread spread_of(std::int64_t width, std::int64_t factor) {
  return width == 16 ? spread_of<16>(factor) : width == 8 ? spread_of<8>(factor) : spread_of<1>(factor);
}

class UpsampleLinearLayer final : public PreparedLayer {
 public:
  UpsampleLinearLayer(const UpsampleProblem& problem, std::int64_t width, Executor& executor)
      : factor_(problem.factor),
        inner_(output_shape(problem).n / problem.factor),
        width_(width),
        spread_(spread_of(width, problem.factor.x)),
        executor_(executor) {
    for (int axis = 0; axis < 3; ++axis) phases_[static_cast<std::size_t>(axis)] = phases_of(factor_[axis]);
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const std::int64_t blocks = blocks_of(out);
    executor_.parallel_for(out.shape.S * blocks * inner_.z, [&](std::int64_t index, int) {
      planes(inputs[0], out, {index / inner_.z / blocks, index / inner_.z % blocks, {index % inner_.z, 0, 0}});
    });
    return {};
  }

 private:
  // Writes block `at.block` of the output planes that are made of inner plane `at.start.z`.
  void planes(const TensorView& in, const TensorView& out, Run at) const {
    for (; at.start.y < inner_.y; ++at.start.y) {
      for (std::int64_t z = 0; z < factor_.z; ++z) {
        for (std::int64_t y = 0; y < factor_.y; ++y) {
          Run to = at;
          to.start = at.start * factor_ + Vec3{z, y, 0};
          row(rows_around(in, at, z, y), run_of(out, to).data());
        }
      }
    }
  }

  [[nodiscard]] Rows rows_around(const TensorView& in, const Run& at, std::int64_t z, std::int64_t y) const {
    const Phase& along_z = phases_[0][static_cast<std::size_t>(z)];
    const Phase& along_y = phases_[1][static_cast<std::size_t>(y)];
    const auto pair = [&](std::int64_t plane) {
      std::array<const float*, 2> rows{};
      for (const auto& [row, beside] : {std::pair{0, along_y.near}, std::pair{1, along_y.far}}) {
        Run from = at;
        from.start = at.start + Vec3{plane, beside, 0};
        rows[static_cast<std::size_t>(row)] = run_of(in, from).data();
      }
      return rows;
    };
    return {pair(along_z.near), pair(along_z.far), along_y.share, along_z.share};
  }

  void row(const Rows& from, float* to) const {
    if (factor_.x == 1) {
      blend(from, 0, inner_.x * width_, to);
      return;
    }
    std::array<float, max_floats> blended;
    const std::int64_t step = static_cast<std::int64_t>(max_floats) / width_ - 2;
    for (std::int64_t first = 0; first < inner_.x; first += step) {
      const std::int64_t voxels = std::min(step, inner_.x - first);
      blend(from, first * width_, (voxels + 2) * width_, blended.data());
      spread_(blended.data(), voxels, phases_[2], to + first * factor_.x * width_);
    }
  }

  Vec3 factor_;
  Vec3 inner_;  // input voxels of which output voxels are made
  std::int64_t width_;
  Spread spread_;
  std::array<std::vector<Phase>, 3> phases_;  // per axis
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_upsample_linear(const LayerProblem& problem, const Estimate& chosen,
                                                               const LayerWeights&, Arena&, Device& device) {
  const auto& upsample = std::get<UpsampleProblem>(problem);
  const std::int64_t width = block_width(chosen.in.layout);
  return std::unique_ptr<PreparedLayer>(std::make_unique<UpsampleLinearLayer>(upsample, width, device.executor()));
}

}  // namespace

extern constinit const Primitive upsample_linear{"cpu.upsample.linear", 1, DeviceKind::cpu, &describe_upsample_linear,
                                                 &prepare_upsample_linear};

}  // namespace znni::cpu
