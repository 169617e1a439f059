#include "primitives/cpu/grad/turned.hpp"

#include <algorithm>
#include <utility>

namespace znni::cpu {

ConvProblem turned_problem(const ConvProblem& conv) {
  ConvProblem turned;
  turned.in = output_shape(conv);
  turned.in.n = turned.in.n + Vec3::cube(2) * conv.dilation * (conv.k - Vec3::cube(1));
  turned.f_out = conv.in.f;
  turned.k = conv.k;
  turned.dilation = conv.dilation;
  return turned;
}

void turn_kernels(const ConvProblem& conv, std::span<const float> kernels, std::span<float> turned,
                  Executor& executor) {
  const std::int64_t taps = voxels(conv.k);
  executor.parallel_for(conv.in.f, [&](std::int64_t i, int) {
    for (std::int64_t j = 0; j < conv.f_out; ++j) {
      const auto from = kernels.begin() + (j * conv.in.f + i) * taps;
      std::reverse_copy(from, from + taps, turned.begin() + (i * conv.f_out + j) * taps);
    }
  });
}

TensorView turned_view(const TensorView& kernels) {
  TensorView turned = kernels;
  std::swap(turned.shape.S, turned.shape.f);
  turned.data = &kernels.at(0, 0, kernels.shape.n - Vec3::cube(1));
  const Strides& own = kernels.strides;
  turned.strides = {own.f, own.S, -own.z, -own.y, -own.x};
  return turned;
}

}  // namespace znni::cpu
