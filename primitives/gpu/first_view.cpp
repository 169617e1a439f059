#include "primitives/gpu/first_view.hpp"

#include "primitives/gpu/views.hpp"

namespace znni::cuda {

std::int64_t first_padded(std::int64_t f_out) { return round_up(f_out, first_channels); }

FirstConv first_conv(const ConvProblem& conv, const TensorView& in) {
  FirstConv arg;
  arg.f = conv.in.f;
  arg.f_out = conv.f_out;
  arg.groups = first_padded(conv.f_out) / first_channels;
  arg.k = extent_of(conv.k);
  arg.dilation = extent_of(conv.dilation);
  arg.in = steps_of(in.strides);
  arg.act = act_of(conv.activation.kind);
  arg.alpha = conv.activation.alpha;
  return arg;
}

FirstArg first_arg(const ConvProblem& conv, const TensorView& in, const TensorView& out) {
  FirstArg arg;
  arg.conv = first_conv(conv, in);
  arg.rows = {out.shape.S, arg.conv.groups, out.shape.n.z, out.shape.n.y, 1, first_row_elements(out.shape.n.x)};
  arg.n_x = out.shape.n.x;
  arg.out = steps_of(out.strides);
  return arg;
}

std::vector<float> first_weights(const ConvProblem& conv, std::span<const float> kernels) {
  const std::int64_t taps = conv.in.f * voxels(conv.k);
  const std::int64_t padded = first_padded(conv.f_out);
  std::vector<float> arranged(static_cast<std::size_t>(taps * padded), 0.0F);
  for (std::int64_t j = 0; j < conv.f_out; ++j) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      arranged[static_cast<std::size_t>(tap * padded + j)] = kernels[static_cast<std::size_t>(j * taps + tap)];
    }
  }
  return arranged;
}

}  // namespace znni::cuda
