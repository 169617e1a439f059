#include "planner/network/output_stride.hpp"

#include <string>
#include <variant>

namespace znni {
namespace {

// Returns whether equal voxels stay equal.
bool keeps_equals(const Operation& operation) {
  return std::holds_alternative<Crop>(operation) || std::holds_alternative<Activate>(operation) ||
         std::holds_alternative<Softmax>(operation) || std::holds_alternative<ScaleShift>(operation);
}

// Returns the factor of a last upsampling that repeats voxels, perhaps behind crops and activations; else 1.
Vec3 last_repetition(const Network& network) {
  const Node* last = &network.nodes.back();
  while (keeps_equals(last->operation) && last->inputs.front() > 0) {
    last = &network.nodes[static_cast<std::size_t>(last->inputs.front() - 1)];
  }
  const auto* up = std::get_if<Upsample>(&last->operation);
  return up != nullptr && up->kind == UpsampleKind::nearest ? up->factor : Vec3::cube(1);
}

}  // namespace

Result<void> check_output_stride(const Network& network) {
  const Vec3 stride = network.output_stride;
  const Vec3 factor = last_repetition(network);
  if (covers(stride, Vec3::cube(1)) && factor % stride == Vec3{}) return {};
  return Error{ErrorCode::invalid_argument, "an output stride of " + to_string(stride) +
                                                " does not divide the factor of a last upsampling, " +
                                                to_string(factor)};
}

}  // namespace znni
