#include "primitives/cpu/fft_tiled/direct_taps.hpp"

#include <algorithm>

namespace znni::cpu::fft_tiled {
namespace {

// Places the taps of one channel or block, whose first one lies at `first`.
void place_window(const ConvProblem& conv, const Strides& steps, std::int64_t first, std::span<std::int64_t> places) {
  const Vec3 apart = conv.dilation * Vec3{steps.z, steps.y, steps.x};
  auto place = places.begin();
  for (std::int64_t z = 0; z < conv.k.z; ++z) {
    for (std::int64_t y = 0; y < conv.k.y; ++y) {
      for (std::int64_t x = 0; x < conv.k.x; ++x) *place++ = first + z * apart.z + y * apart.y + x * apart.x;
    }
  }
}

}  // namespace

std::int64_t tap_count(const ConvProblem& conv) { return mul(conv.in.f, voxels(conv.k)); }

void pack_taps(const Tiling& t, std::span<const float> kernels, std::span<float> packed) {
  const std::int64_t taps = tap_count(t.problem);
  std::fill(packed.begin(), packed.end(), 0.0F);
  for (std::int64_t j = 0; j < t.problem.f_out; ++j) {
    float* to = packed.data() + j / t.lanes * taps * t.lanes + j % t.lanes;
    for (std::int64_t tap = 0; tap < taps; ++tap) to[tap * t.lanes] = kernels[j * taps + tap];
  }
}

std::int64_t narrow_tap_count(const Tiling& t) { return mul(t.in_blocks(), voxels(t.problem.k)); }

void pack_narrow_taps(const Tiling& t, std::span<const float> kernels, std::span<float> packed) {
  const std::int64_t taps = voxels(t.problem.k);
  std::fill(packed.begin(), packed.end(), 0.0F);
  auto kernel = kernels.begin();
  for (std::int64_t j = 0; j < t.problem.f_out; ++j) {
    for (std::int64_t i = 0; i < t.problem.in.f; ++i) {
      float* const to = packed.data() + (i / t.lanes * taps * t.problem.f_out + j) * t.lanes + i % t.lanes;
      for (std::int64_t tap = 0; tap < taps; ++tap) to[tap * t.problem.f_out * t.lanes] = *kernel++;
    }
  }
}

void place_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places) {
  const std::int64_t width = block_width(in.format.layout);
  for (std::int64_t channel = 0; channel < conv.in.f; ++channel) {
    const std::int64_t first = channel / width * in.strides.f + channel % width;
    place_window(conv, in.strides, first, places.subspan(static_cast<std::size_t>(channel * voxels(conv.k))));
  }
}

void place_narrow_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places) {
  const std::int64_t blocks = div_up(conv.in.f, block_width(in.format.layout));
  for (std::int64_t block = 0; block < blocks; ++block) {
    place_window(conv, in.strides, block * in.strides.f,
                 places.subspan(static_cast<std::size_t>(block * voxels(conv.k))));
  }
}

}  // namespace znni::cpu::fft_tiled
