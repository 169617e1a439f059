#include <span>

#include "primitives/cpu/activate.hpp"
#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

void finish_slowly(const Tiling& t, std::int64_t block, float* line, std::int64_t inside) {
  const std::span<float> values(line, static_cast<std::size_t>(inside * t.lanes));
  activate(t.problem.activation, values);
  clear_lanes(values, t.problem.f_out - block * t.lanes, t.lanes);
}

}  // namespace znni::cpu::fft_tiled
