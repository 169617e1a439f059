// cpu.upsample.aligned: a tensor with more voxels per axis, interpolated so that the first and the last voxel stay
// where they are. As in cpu.upsample.linear, four rows of the input are blended first, a part at a time, then
// neighbours along x; but each output voxel has a place of its own.
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

Result<std::vector<Estimate>> describe_upsample_aligned(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* upsample = std::get_if<UpsampleProblem>(&problem);
  if (upsample == nullptr || upsample->kind != UpsampleKind::aligned) {
    return refusal("cpu.upsample.aligned", "upsamplings with aligned corners", problem);
  }
  const double cycles = 6.0 + 10.0 / static_cast<double>(upsample->factor.x);
  return streaming_estimates(problem, spec, float_formats(spec), vector_flops(cycles, spec));
}

// Place of an output voxel: `share` of the way from input voxel `near` to `far`.
struct Place {
  std::int64_t near = 0;
  std::int64_t far = 0;
  float share = 0;
};

std::vector<Place> places_of(std::int64_t n, std::int64_t factor) {
  std::vector<Place> places(static_cast<std::size_t>(n * factor));
  const std::int64_t whole = std::max<std::int64_t>(1, n * factor - 1);
  for (std::int64_t v = 0; v < n * factor; ++v) {
    const std::int64_t scaled = v * (n - 1);  // an extent is far below 2^31
    const std::int64_t near = scaled / whole;
    const double share = static_cast<double>(scaled % whole) / static_cast<double>(whole);
    places[static_cast<std::size_t>(v)] = {near, std::min(near + 1, n - 1), static_cast<float>(share)};
  }
  return places;
}

class UpsampleAlignedLayer final : public PreparedLayer {
 public:
  UpsampleAlignedLayer(const UpsampleProblem& problem, std::int64_t width, Executor& executor)
      : width_(width), executor_(executor) {
    for (int axis = 0; axis < 3; ++axis) {
      places_[static_cast<std::size_t>(axis)] = places_of(problem.in.n[axis], problem.factor[axis]);
    }
  }

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const std::int64_t blocks = blocks_of(out);
    const Vec3 n = out.shape.n;
    executor_.parallel_for(out.shape.S * blocks * n.z, [&](std::int64_t index, int) {
      Run to{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, n.x * width_};
      for (; to.start.y < n.y; ++to.start.y) row(rows_around(inputs[0], to), run_of(out, to));
    });
    return {};
  }

 private:
  [[nodiscard]] const Place& place(int axis, std::int64_t v) const {
    return places_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(v)];
  }

  // Returns the rows of the input around that of the output.
  [[nodiscard]] Rows rows_around(const TensorView& in, const Run& to) const {
    const Place& along_z = place(0, to.start.z);
    const Place& along_y = place(1, to.start.y);
    const auto pair = [&](std::int64_t plane) {
      std::array<const float*, 2> rows{};
      for (const auto& [row, y] : {std::pair{0, along_y.near}, std::pair{1, along_y.far}}) {
        Run from = to;
        from.start = {plane, y, 0};
        rows[static_cast<std::size_t>(row)] = run_of(in, from).data();
      }
      return rows;
    };
    return {pair(along_z.near), pair(along_z.far), along_y.share, along_z.share};
  }

  void row(const Rows& from, std::span<float> to) const {
    const std::span<const Place> places = places_[2];
    const std::int64_t max_voxels = static_cast<std::int64_t>(max_floats) / width_;
    std::array<float, max_floats> blended;
    float* next = to.data();
    for (std::size_t first = 0; first < places.size();) {
      const std::int64_t begin = places[first].near;
      std::size_t last = first;
      while (last + 1 < places.size() && places[last + 1].far - begin < max_voxels) ++last;
      blend(from, begin * width_, (places[last].far - begin + 1) * width_, blended.data());
      for (; first <= last; ++first) next = spread(places[first], begin, blended, next);
    }
  }

  // Writes a voxel; returns where the next one goes.
  float* spread(const Place& place, std::int64_t begin, std::span<const float> blended, float* to) const {
    const float* const near = blended.data() + (place.near - begin) * width_;
    const float* const far = blended.data() + (place.far - begin) * width_;
    for (std::int64_t lane = 0; lane < width_; ++lane) *to++ = between(near[lane], far[lane], place.share);
    return to;
  }

  std::int64_t width_;
  std::array<std::vector<Place>, 3> places_;  // per axis, of every output voxel
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_upsample_aligned(const LayerProblem& problem, const Estimate& chosen,
                                                                const LayerWeights&, Arena&, Device& device) {
  const auto& upsample = std::get<UpsampleProblem>(problem);
  const std::int64_t width = block_width(chosen.in.layout);
  return std::unique_ptr<PreparedLayer>(std::make_unique<UpsampleAlignedLayer>(upsample, width, device.executor()));
}

}  // namespace

extern constinit const Primitive upsample_aligned{"cpu.upsample.aligned", 1, DeviceKind::cpu,
                                                  &describe_upsample_aligned, &prepare_upsample_aligned};

}  // namespace znni::cpu
