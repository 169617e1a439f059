#include "primitives/gpu/direct_view.hpp"

#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

constexpr std::int64_t channels_of_block = 4;

std::int64_t group_blocks(const ConvProblem& conv) { return div_up(conv.f_out / conv.groups, direct_channels(conv)); }

// Returns where channel `j` of the output stands among the channels of all blocks.
std::size_t place_of(const ConvProblem& conv, std::int64_t j) {
  const std::int64_t of_group = conv.f_out / conv.groups;
  return static_cast<std::size_t>(j / of_group * group_blocks(conv) * direct_channels(conv) + j % of_group);
}

}  // namespace

int direct_channels(const ConvProblem& conv) {
  return conv.f_out / conv.groups < channels_of_block ? 1 : static_cast<int>(channels_of_block);
}

std::int64_t direct_padded(const ConvProblem& conv) {
  return mul(conv.groups, mul(group_blocks(conv), direct_channels(conv)));
}

DirectArg direct_arg(const ConvProblem& conv, std::span<const TensorView> inputs, const TensorView& out) {
  DirectArg arg;
  arg.conv.f = conv.in.f / conv.groups;
  arg.conv.f_out = conv.f_out / conv.groups;
  arg.conv.group_blocks = group_blocks(conv);
  arg.conv.blocks = conv.groups * arg.conv.group_blocks;
  arg.conv.k = extent_of(conv.k);
  arg.conv.dilation = extent_of(conv.dilation);
  arg.conv.stride = extent_of(conv.stride);
  arg.conv.in = steps_of(inputs[0].strides);
  arg.conv.act = act_of(conv.activation.kind);
  arg.conv.alpha = conv.activation.alpha;
  arg.planar = out.format.layout == Layout::planar;
  const Vec3 n = out.shape.n;
  const auto blocks = static_cast<int>(arg.conv.blocks);
  arg.rows = arg.planar ? RowShape{out.shape.S, arg.conv.blocks, n.z, n.y, 1, static_cast<int>(n.x)}
                        : RowShape{out.shape.S, 1, n.z, n.y, static_cast<int>(n.x), blocks};
  arg.out = steps_of(out.strides);
  if (conv.residual) arg.residual = steps_of(inputs[1].strides);
  return arg;
}

std::vector<float> direct_weights(const ConvProblem& conv, std::span<const float> kernels) {
  const std::int64_t terms = terms_of(conv);
  const std::int64_t padded = direct_padded(conv);
  std::vector<float> arranged(static_cast<std::size_t>(terms * padded), 0.0F);
  for (std::int64_t j = 0; j < conv.f_out; ++j) {
    for (std::int64_t term = 0; term < terms; ++term) {
      arranged[static_cast<std::size_t>(term * padded) + place_of(conv, j)] =
          kernels[static_cast<std::size_t>(j * terms + term)];
    }
  }
  return arranged;
}

std::vector<float> direct_bias(const ConvProblem& conv, std::span<const float> bias) {
  std::vector<float> arranged(static_cast<std::size_t>(direct_padded(conv)), 0.0F);
  for (std::size_t j = 0; j < bias.size(); ++j) arranged[place_of(conv, static_cast<std::int64_t>(j))] = bias[j];
  return arranged;
}

}  // namespace znni::cuda
