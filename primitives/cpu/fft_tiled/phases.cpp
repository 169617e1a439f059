#include "primitives/cpu/fft_tiled/phases.hpp"

#include <algorithm>

namespace znni::cpu::fft_tiled {

Phases phases_of(const ConvProblem& conv) {
  Phases phases;
  if (conv.dilation == Vec3::cube(1)) return phases;
  for (int axis = 0; axis < 3; ++axis) phases.dilation[axis] = conv.k[axis] == 1 ? 1 : conv.dilation[axis];
  phases.count = min(phases.dilation, output_shape(conv).n);
  return phases;
}

Phases planes_of(const ConvProblem& conv) {
  Phases phases = phases_of(conv);
  phases.dilation.z = phases.count.z = conv.in.n.z;
  return phases;
}

ConvProblem phase_problem(const ConvProblem& conv, const Phases& phases) {
  ConvProblem problem = conv;
  problem.dilation = Vec3::cube(1);
  problem.in.S = mul(conv.in.S, voxels(phases.count));
  for (int axis = 0; axis < 3; ++axis) problem.in.n[axis] = div_up(conv.in.n[axis], phases.dilation[axis]);
  return problem;
}

TensorView phase_view(const TensorView& view, Vec3 dilation, Vec3 phase) {
  TensorView part = view;
  part.data += phase.z * view.strides.z + phase.y * view.strides.y + phase.x * view.strides.x;
  part.strides.z *= dilation.z;
  part.strides.y *= dilation.y;
  part.strides.x *= dilation.x;
  for (int axis = 0; axis < 3; ++axis) {
    part.shape.n[axis] = div_up(std::max<std::int64_t>(view.shape.n[axis] - phase[axis], 0), dilation[axis]);
  }
  return part;
}

}  // namespace znni::cpu::fft_tiled
