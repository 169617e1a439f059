// cpu.upsample: a tensor with more voxels per axis, repeated (nearest) or made of channels (shuffle). Every output row
// is woven of `factor.x` input rows: of one row, again and again, or of one row of each phase. The planes that an input
// plane makes are one task, so its rows come from the core's own cache. Blocked layouts need whole blocks of output
// channels to shuffle; blocks are then moved unchanged.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

bool fills_blocks(const UpsampleProblem& upsample, Format format) {
  return upsample.kind == UpsampleKind::nearest || output_shape(upsample).f % block_width(format.layout) == 0;
}

Result<std::vector<Estimate>> describe_upsample(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* upsample = std::get_if<UpsampleProblem>(&problem);
  if (upsample == nullptr || (upsample->kind != UpsampleKind::nearest && upsample->kind != UpsampleKind::shuffle)) {
    return refusal("cpu.upsample", "nearest upsamplings and shuffles", problem);
  }
  std::vector<Format> formats = float_formats(spec);
  std::erase_if(formats, [&](Format format) { return !fills_blocks(*upsample, format); });
  return streaming_estimates(problem, spec, formats, 0.0);
}

// Weaves `voxels` voxels of `width` floats of each of the rows `from` into one row. `to` does not overlap them.
using Weave = void (*)(std::span<const float* const> from, std::int64_t voxels, float* to);

template <std::int64_t width>
void weave_one(std::span<const float* const> from, std::int64_t voxels, float* to) {
  std::copy_n(from[0], voxels * width, to);
}

template <std::int64_t width, std::size_t count>
void weave_few(std::span<const float* const> from, std::int64_t voxels, float* __restrict to) {
  std::array<const float*, count> rows{};
  std::copy_n(from.begin(), count, rows.begin());
  for (std::int64_t x = 0; x < voxels; ++x) {
    for (const float* const row : rows) {
      for (std::int64_t lane = 0; lane < width; ++lane) *to++ = row[x * width + lane];
    }
  }
}

template <std::int64_t width>
void weave_any(std::span<const float* const> from, std::int64_t voxels, float* __restrict to) {
  for (std::int64_t x = 0; x < voxels; ++x) {
    for (const float* const row : from) {
      for (std::int64_t lane = 0; lane < width; ++lane) *to++ = row[x * width + lane];
    }
  }
}

template <std::int64_t width>
Weave weave_of(std::int64_t factor) {
  constexpr std::array<Weave, 4> few = {&weave_one<width>, &weave_few<width, 2>, &weave_few<width, 3>,
                                        &weave_few<width, 4>};
  return factor <= std::ssize(few) ? few[static_cast<std::size_t>(factor - 1)] : &weave_any<width>;
}

Weave weave_of(std::int64_t width, std::int64_t factor) {
  return width == 16 ? weave_of<16>(factor) : width == 8 ? weave_of<8>(factor) : weave_of<1>(factor);
}

class UpsampleLayer final : public PreparedLayer {
 public:
  UpsampleLayer(const UpsampleProblem& problem, Weave weave, Executor& executor)
      : problem_(problem), weave_(weave), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const std::int64_t blocks = blocks_of(out);
    const std::int64_t planes = problem_.in.n.z;
    executor_.parallel_for(out.shape.S * blocks * planes, [&](std::int64_t index, int) {
      plane(inputs[0], out, {index / planes / blocks, index / planes % blocks, {index % planes, 0, 0}});
    });
    return {};
  }

 private:
  // Writes block `at.block` of the output planes that the input planes at `at` make.
  void plane(const TensorView& in, const TensorView& out, Run at) const {
    const Vec3 factor = problem_.factor;
    std::vector<const float*> rows(static_cast<std::size_t>(factor.x));
    for (; at.start.y < problem_.in.n.y; ++at.start.y) {
      for (std::int64_t row = 0; row < factor.z * factor.y; ++row) {
        find_rows(in, out, at, row, rows);
        Run to = at;
        to.start = at.start * factor + Vec3{row / factor.y, row % factor.y, 0};
        weave_(rows, problem_.in.n.x, run_of(out, to).data());
      }
    }
  }

  // Finds the input rows of which output row `row` of the factor's rows (z, y) is woven.
  void find_rows(const TensorView& in, const TensorView& out, Run at, std::int64_t row,
                 std::span<const float*> rows) const {
    const std::int64_t block = at.block;
    for (std::size_t x = 0; x < rows.size(); ++x) {
      const std::int64_t phase = row * problem_.factor.x + static_cast<std::int64_t>(x);
      if (problem_.kind == UpsampleKind::shuffle) at.block = phase * blocks_of(out) + block;
      rows[x] = run_of(in, at).data();
    }
  }

  UpsampleProblem problem_;
  Weave weave_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_upsample(const LayerProblem& problem, const Estimate& chosen,
                                                        const LayerWeights&, Arena&, Device& device) {
  const auto& upsample = std::get<UpsampleProblem>(problem);
  const Weave weave = weave_of(block_width(chosen.in.layout), upsample.factor.x);
  return std::unique_ptr<PreparedLayer>(std::make_unique<UpsampleLayer>(upsample, weave, device.executor()));
}

}  // namespace

extern constinit const Primitive upsample{"cpu.upsample", 1, DeviceKind::cpu, &describe_upsample, &prepare_upsample};

}  // namespace znni::cpu
