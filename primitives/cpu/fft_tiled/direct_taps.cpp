#include "primitives/cpu/fft_tiled/direct_taps.hpp"

#include <algorithm>

namespace znni::cpu::fft_tiled {

std::int64_t tap_count(const ConvProblem& conv) { return mul(conv.in.f, voxels(conv.k)); }

void pack_taps(const Tiling& t, std::span<const float> kernels, std::span<float> packed) {
  const std::int64_t taps = tap_count(t.problem);
  std::fill(packed.begin(), packed.end(), 0.0F);
  for (std::int64_t j = 0; j < t.problem.f_out; ++j) {
    float* to = packed.data() + j / t.lanes * taps * t.lanes + j % t.lanes;
    for (std::int64_t tap = 0; tap < taps; ++tap) to[tap * t.lanes] = kernels[j * taps + tap];
  }
}

void place_taps(const ConvProblem& conv, const TensorView& in, std::span<std::int64_t> places) {
  const Strides& steps = in.strides;
  const std::int64_t width = block_width(in.format.layout);
  auto place = places.begin();
  for (std::int64_t image = 0; image < conv.in.f; ++image) {
    const std::int64_t first = image / width * steps.f + image % width;
    for (std::int64_t z = 0; z < conv.k.z; ++z) {
      for (std::int64_t y = 0; y < conv.k.y; ++y) {
        for (std::int64_t x = 0; x < conv.k.x; ++x) {
          *place++ =
              first + z * conv.dilation.z * steps.z + y * conv.dilation.y * steps.y + x * conv.dilation.x * steps.x;
        }
      }
    }
  }
}

}  // namespace znni::cpu::fft_tiled
