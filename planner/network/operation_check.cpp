#include "planner/network/operation_check.hpp"

#include <array>
#include <cmath>

#include "planner/network/operations/all.hpp"

namespace znni {

Result<void> check_within(std::string_view name, Vec3 value, std::int64_t least, int spatial_rank) {
  constexpr std::array<char, 3> axis_names = {'z', 'y', 'x'};
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t most = axis < 3 - spatial_rank ? least : max_reach;
    if (value[axis] >= least && value[axis] <= most) continue;
    return invalid_operation(std::string(name) + "." + axis_names[index(axis)] + " = " + std::to_string(value[axis]) +
                             " is not in [" + std::to_string(least) + ", " + std::to_string(most) + "]");
  }
  return {};
}

Result<void> check_activation(Activation activation) {
  if (!std::isfinite(activation.alpha)) return invalid_operation("alpha of the activation is not finite");
  return {};
}

Result<void> check_norm_epsilon(float epsilon) {
  return std::isfinite(epsilon) && epsilon > 0 ? Result<void>() : invalid_operation("epsilon is not above 0");
}

Result<void> check_reaches_meet(const InputValue& first, const InputValue& other) {
  if (first.reach == other.reach) return {};
  return invalid_operation("branches do not meet: " + first.name + " has " + reach_text(first.reach) + ", " +
                           other.name + " has " + reach_text(other.reach));
}

Result<void> check_operation(const Operation& operation, int spatial_rank) {
  return by_rules(operation, [&](const auto& rules, const auto& own) { return rules.check(own, spatial_rank); });
}

Result<void> check_border(std::string_view name, const Border& border, int spatial_rank) {
  if (Result<void> sound = check_within(std::string(name) + ".begin", border.begin, 0, spatial_rank); !sound) {
    return sound;
  }
  return check_within(std::string(name) + ".end", border.end, 0, spatial_rank);
}

Result<void> check_input_count(const Operation& operation, std::size_t count) {
  const InputCounts right = by_rules(operation, [](const auto& rules, const auto&) { return rules.inputs; });
  if (count >= right.least && count <= right.most) return {};
  return invalid_operation("has " + std::to_string(count) + " inputs; it needs " + std::string(right.words));
}

Result<void> check_meeting(const Operation& operation, std::span<const InputValue> inputs) {
  return by_rules(operation, [&](const auto& rules, const auto& own) { return rules.check_meeting(own, inputs); });
}

std::string reach_text(const Reach& reach) {
  return "field of view " + to_string(reach.fov) + ", stride " + to_string(reach.stride);
}

}  // namespace znni
