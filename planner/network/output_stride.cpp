#include "planner/network/output_stride.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include "planner/network/operation_traits.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

// Channels [begin, end) of a value.
struct Part {
  int value = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Returns the part of the one input of a Concat that all of `joined` comes from; of value 0 if it comes from several.
Part before_concat(const Node& concat, const std::vector<std::int64_t>& channels, Part joined) {
  for (const int input : concat.inputs) {
    const std::int64_t own = channels[index(input)];
    if (joined.begin < own) return joined.end <= own ? Part{input, joined.begin, joined.end} : Part{};
    joined = {0, joined.begin - own, joined.end - own};
  }
  return {};
}

// Returns the factor of a last upsampling that repeats the part's voxels, perhaps behind crops, activations and
// Concats; else 1.
Vec3 last_repetition(const Network& network, const std::vector<std::int64_t>& channels, Part part) {
  while (part.value > 0) {
    const Node& node = network.nodes[index(part.value - 1)];
    const auto* up = std::get_if<Upsample>(&node.operation);
    if (up != nullptr) return up->kind == UpsampleKind::nearest ? up->factor : Vec3::cube(1);
    if (std::holds_alternative<Concat>(node.operation)) {
      part = before_concat(node, channels, part);
    } else {
      const Origin origin = traits_of(node.operation).origin;
      if (origin == Origin::other) break;  // equal voxels need not stay equal
      const bool mixes = origin == Origin::voxel;
      const int input = node.inputs.front();
      part = {input, mixes ? 0 : part.begin, mixes ? channels[index(input)] : part.end};
    }
  }
  return Vec3::cube(1);
}

Result<void> check_stride(const std::string& output, Vec3 stride, Vec3 factor) {
  if (covers(stride, Vec3::cube(1)) && factor % stride == Vec3{}) return {};
  return Error{ErrorCode::invalid_argument, output + " stride of " + to_string(stride) +
                                                " does not divide the factor of a last upsampling, " +
                                                to_string(factor)};
}

}  // namespace

bool outputs_differ_in_stride(const std::vector<NamedTensor>& outputs) {
  return std::adjacent_find(outputs.begin(), outputs.end(), [](const NamedTensor& a, const NamedTensor& b) {
           return a.stride != b.stride;
         }) != outputs.end();
}

Vec3 min_output_stride(const Network& network) {
  if (network.outputs.empty()) return network.output_stride;
  Vec3 least = network.outputs.front().stride;
  for (const NamedTensor& output : network.outputs) least = min(least, output.stride);
  return least * network.output_stride;
}

Result<void> check_output_stride(const Network& network) {
  const std::vector<std::int64_t> f = channels_of(network);
  const int last = static_cast<int>(network.nodes.size());
  Part part{last, 0, f.back()};
  Result<void> all = check_stride("an output", network.output_stride, last_repetition(network, f, part));
  if (!all) return all;
  part.end = 0;
  for (const NamedTensor& output : network.outputs) {
    part = {last, part.end, part.end + output.channels};
    const Vec3 factor = last_repetition(network, f, part);
    Result<void> sound = check_stride("output " + output.name + ": a", output.stride, factor);
    if (sound) sound = check_stride("output " + output.name + ": a", output.stride * network.output_stride, factor);
    if (!sound) return sound;
  }
  return {};
}

}  // namespace znni
