#include "proto/convert/onnx/writer/onnx_written_transposed.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "primitives/core/fragments.hpp"

namespace znni {
namespace {

// Returns whether the numbers are `count` times the same.
bool repeats(std::span<const float> numbers, std::int64_t count) {
  const auto period = static_cast<std::ptrdiff_t>(numbers.size()) / count;
  return std::equal(numbers.begin() + period, numbers.end(), numbers.begin());
}

// Returns the kernels [f][f_out][k...] of the transposed convolution, k = factor * taps: tap t of the convolution for
// voxel `phase` is tap phase + factor * (taps - 1 - t).
std::vector<float> kernels_of(const WrittenNode& written, const Convolution& conv, Vec3 factor) {
  const std::int64_t phases = voxels(factor);
  const std::int64_t f_out = conv.f_out / phases;
  const Vec3 k = factor * conv.k;
  const std::int64_t taps = voxels(conv.k);
  std::vector<float> to(written.weights.kernels.size());
  for (std::int64_t from = 0; from < static_cast<std::int64_t>(to.size()); ++from) {
    const std::int64_t channel = from / taps;
    const std::int64_t i = channel % written.channels;
    const std::int64_t j = channel / written.channels % f_out;
    const Vec3 phase = fragment_at(channel / written.channels / f_out, factor);
    const Vec3 at = phase + factor * (conv.k - Vec3::cube(1) - fragment_at(from % taps, conv.k));
    const std::int64_t place = (i * f_out + j) * voxels(k) + fragment_index(at, k);
    to[static_cast<std::size_t>(place)] = written.weights.kernels[static_cast<std::size_t>(from)];
  }
  return to;
}

}  // namespace

int shuffle_of(const LoadedNetwork& loaded, int number, const Border& pads) {
  const Node& node = loaded.network.nodes[index(number)];
  const auto* conv = std::get_if<Convolution>(&node.operation);
  const std::vector<int> readers = readers_of(loaded.network, number + 1);
  if (conv == nullptr || node.inputs.size() != 1 || readers.size() != 1) return -1;
  const auto* up = std::get_if<Upsample>(&loaded.network.nodes[index(readers.front())].operation);
  if (up == nullptr || up->kind != UpsampleKind::shuffle) return -1;
  const Vec3 around = conv->k - Vec3::cube(1);
  const bool is_plain = conv->stride == Vec3::cube(1) && conv->dilation == Vec3::cube(1) && conv->groups == 1;
  if (!is_plain || pads != Border{around, around}) return -1;
  const std::vector<float>& bias = loaded.weights[index(number)].bias;
  return bias.empty() || repeats(bias, voxels(up->factor)) ? readers.front() : -1;
}

void write_transposed(const WrittenNode& conv, Vec3 factor, OnnxMessage& message) {
  const auto& own = std::get<Convolution>(conv.node.operation);
  const std::int64_t f_out = own.f_out / voxels(factor);
  const OnnxNumbers k = spatial_numbers(factor * own.k, message.rank());
  OnnxNumbers extents = {conv.channels, f_out};
  extents.insert(extents.end(), k.begin(), k.end());
  const std::string& name = conv.node.name;
  std::vector<std::string> inputs = {conv.inputs.front(),
                                     message.floats(name + ".weight", extents, kernels_of(conv, own, factor))};
  if (!conv.weights.bias.empty()) {
    const std::span<const float> bias = conv.weights.bias;
    inputs.push_back(message.floats(name + ".bias", {f_out}, bias.first(static_cast<std::size_t>(f_out))));
  }
  onnx::NodeProto& node = message.node("ConvTranspose", name, inputs, conv.output);
  set_integers(node, "kernel_shape", k);
  set_integers(node, "strides", spatial_numbers(factor, message.rank()));
}

}  // namespace znni
