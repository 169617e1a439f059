// Phases of a dilated convolution. An output voxel reads input voxels that lie `dilation` apart. A phase is the voxels
// whose positions leave the same rest when divided by the dilation. Outputs of a phase are an undilated convolution of
// the inputs of that phase. Phases are views of the tensors with longer strides; nothing is copied.
#pragma once

#include "primitives/core/problem.hpp"

namespace znni::cpu::fft_tiled {

struct Phases {
  Vec3 dilation = Vec3::cube(1);  // 1 along axes of one tap
  Vec3 count = Vec3::cube(1);     // phases along each axis that have outputs
};

[[nodiscard]] Phases phases_of(const ConvProblem& conv);

// Returns the same, but every plane along z is a phase of its own. Requires a kernel of one tap along z.
[[nodiscard]] Phases planes_of(const ConvProblem& conv);

// Returns the undilated convolution of the first phase, which is the largest, with all phases of all inputs as inputs.
[[nodiscard]] ConvProblem phase_problem(const ConvProblem& conv, const Phases& phases);

// Returns the voxels of one phase, which may be none along some axis. `view` is a tensor of the dilated convolution.
[[nodiscard]] TensorView phase_view(const TensorView& view, Vec3 dilation, Vec3 phase);

}  // namespace znni::cpu::fft_tiled
