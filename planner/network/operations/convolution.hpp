// Rules of convolutions.
#pragma once

#include "planner/network/network_reach.hpp"
#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/operations/texts.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Convolution> : RulesOfOneVoxel<Convolution> {
  static constexpr InputCounts inputs = {1, 2, "1, or 2 where a residual is added"};

  static OperationTraits traits(const Convolution&) {
    return {"conv", "convolution", Origin::other, false, OutsideKind::zero, {}};
  }

  static Reading reading(const Convolution& conv) { return {dilated(conv.k, conv.dilation), conv.stride}; }

  static Result<void> check(const Convolution& conv, int spatial_rank) {
    if (conv.f_out < 1 || conv.f_out > max_channels) {
      return invalid_operation("f_out = " + std::to_string(conv.f_out) + " is not in [1, 2^24]");
    }
    if (conv.groups < 1) return invalid_operation("groups = " + std::to_string(conv.groups) + " is below 1");
    if (Result<void> sound = check_positive("k", conv.k, spatial_rank); !sound) return sound;
    if (Result<void> sound = check_positive("dilation", conv.dilation, 3); !sound) return sound;
    if (Result<void> sound = check_positive("stride", conv.stride, spatial_rank); !sound) return sound;
    return check_activation(conv.activation);
  }

  static Result<void> check_meeting(const Convolution& conv, std::span<const InputValue> inputs) {
    const std::int64_t f = inputs.front().channels;
    if (f % conv.groups != 0 || conv.f_out % conv.groups != 0) {
      return invalid_operation("groups = " + std::to_string(conv.groups) + " does not divide the " + std::to_string(f) +
                               " channels of its input and the " + std::to_string(conv.f_out) + " of its own");
    }
    return inputs.size() == 1 ? Result<void>() : check_residual(conv, inputs.front(), inputs.back());
  }

  static std::int64_t channels(const Convolution& conv, const std::vector<int>&, const std::vector<std::int64_t>&) {
    return conv.f_out;
  }

  static WeightSizes weights(const Convolution& conv, std::int64_t f) {
    return {mul(mul(f / conv.groups, conv.f_out), voxels(conv.k)), conv.f_out, 0, 0};
  }

  static Activation* fused(Convolution& conv) { return &conv.activation; }

  static void swap_own_axes(Convolution& conv, int axis) {
    conv.k = swap_axes(conv.k, axis);
    conv.dilation = swap_axes(conv.dilation, axis);
    conv.stride = swap_axes(conv.stride, axis);
  }

  static ConvProblem problem(const Convolution& c, const NodeInputs& in) {
    const bool residual = in.shapes.size() == 2;
    return {in.shapes.front(), c.f_out, c.k, c.dilation, c.stride, c.activation, residual, {}, c.groups, c.local};
  }

  static std::string text(const Convolution& conv, std::int64_t f, bool residual) {
    std::string text = "conv " + std::to_string(f) + " -> " + std::to_string(conv.f_out) + ", k " + to_string(conv.k);
    if (conv.dilation != Vec3::cube(1)) text += ", dilation " + to_string(conv.dilation);
    if (conv.stride != Vec3::cube(1)) text += ", stride " + to_string(conv.stride);
    if (conv.groups != 1) text += ", groups " + std::to_string(conv.groups);
    if (residual) text += ", residual";
    if (conv.local) text += ", local";
    return text + activation_text(conv.activation);
  }

 private:
  // Checks that the residual lies where the sums lie to which a convolution adds it.
  static Result<void> check_residual(const Convolution& conv, const InputValue& in, const InputValue& residual) {
    const Reach own = reach_after(conv, in.reach);
    if (own != residual.reach) {
      return invalid_operation("branches do not meet: its sums have " + reach_text(own) + ", " + residual.name +
                               " has " + reach_text(residual.reach));
    }
    if (residual.channels == conv.f_out) return {};
    return invalid_operation("adds " + std::to_string(residual.channels) + " channels of " + residual.name + " to " +
                             std::to_string(conv.f_out) + " of its own");
  }
};

}  // namespace znni
