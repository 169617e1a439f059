#include "primitives/core/problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "primitives/core/overloaded.hpp"

namespace znni {
namespace {

constexpr std::array<char, 3> axis_names = {'z', 'y', 'x'};

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string axis_text(const char* name, int axis) { return std::string(name) + "." + axis_names[axis]; }

Result<void> check_positive(const char* name, Vec3 value) {
  for (int axis = 0; axis < 3; ++axis) {
    if (value[axis] < 1 || value[axis] > (1 << 20)) {
      return invalid(axis_text(name, axis) + " = " + std::to_string(value[axis]) + " is not in [1, 2^20]");
    }
  }
  return {};
}

Result<void> check_covers(Vec3 n, Vec3 window) {
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] < window[axis]) {
      return invalid(axis_text("n", axis) + " = " + std::to_string(n[axis]) + " is smaller than the window " +
                     std::to_string(window[axis]));
    }
  }
  return {};
}

Result<void> check_conv(const ConvProblem& conv) {
  if (conv.f_out < 1) return invalid("f_out = " + std::to_string(conv.f_out) + " is below 1");
  for (const auto& [name, value] :
       {std::pair{"k", conv.k}, std::pair{"dilation", conv.dilation}, std::pair{"stride", conv.stride}}) {
    if (Result<void> positive = check_positive(name, value); !positive) return positive;
  }
  if (Result<void> covers_kernel = check_covers(conv.in.n, dilated(conv.k, conv.dilation)); !covers_kernel) {
    return covers_kernel;
  }
  if (conv.groups < 1 || conv.in.f % conv.groups != 0 || conv.f_out % conv.groups != 0) {
    return invalid("groups = " + std::to_string(conv.groups) + " does not divide the " + std::to_string(conv.in.f) +
                   " channels of the input and the " + std::to_string(conv.f_out) + " of the output");
  }
  for (const std::int64_t planes : {conv.before.in, conv.before.out}) {
    if (planes < 0 || planes > 1 << 20) return invalid(std::to_string(planes) + " planes before are not in [0, 2^20]");
  }
  return check_shape(output_shape(conv));
}

Result<void> check_groups(const PoolProblem& pool) {
  for (int axis = 0; axis < 3; ++axis) {
    if (pool.stride[axis] % pool.groups[axis] == 0) continue;
    return invalid(axis_text("stride", axis) + " = " + std::to_string(pool.stride[axis]) + " is not divisible by " +
                   axis_text("groups", axis) + " = " + std::to_string(pool.groups[axis]));
  }
  return {};
}

// Fails unless every fragment has the same extent (MPF). Axes that are made in groups are exempt.
Result<void> check_divisible(const PoolProblem& pool) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t offsets = pool.in.n[axis] - pool.window[axis] + 1;
    if (offsets % pool.stride[axis] == 0 || pool.groups[axis] > 1) continue;
    return invalid(axis_text("n", axis) + " - " + axis_text("window", axis) + " + 1 = " + std::to_string(offsets) +
                   " is not divisible by " + axis_text("stride", axis) + " = " + std::to_string(pool.stride[axis]));
  }
  return {};
}

Result<void> check_pool(const PoolProblem& pool) {
  for (const auto& [name, value] : {std::pair{"window", pool.window}, std::pair{"stride", pool.stride},
                                    std::pair{"fragments", pool.fragments}, std::pair{"groups", pool.groups}}) {
    if (Result<void> positive = check_positive(name, value); !positive) return positive;
  }
  if (Result<void> divide = check_groups(pool); !divide) return divide;
  const Vec3 span = pool.window + pooled_offsets(pool) - Vec3::cube(1);
  if (Result<void> covers_window = check_covers(pool.in.n, span); !covers_window) return covers_window;
  if (pool.in.S % voxels(pool.fragments) != 0) {
    return invalid("S = " + std::to_string(pool.in.S) + " is not a multiple of the fragments " +
                   to_string(pool.fragments));
  }
  if (pool.mode == PoolMode::plain) return {};
  if (Result<void> divisible = check_divisible(pool); !divisible) return divisible;
  return check_shape(output_shape(pool));
}

// Fails unless at least one voxel stays on each axis.
Result<void> check_crop(const CropProblem& crop) {
  for (int axis = 0; axis < 3; ++axis) {
    for (const auto& [name, value] : {std::pair{"begin", crop.begin}, std::pair{"end", crop.end}}) {
      if (value[axis] >= 0) continue;
      return invalid(axis_text(name, axis) + " = " + std::to_string(value[axis]) + " is below 0");
    }
    if (add(crop.begin[axis], crop.end[axis]) < crop.in.n[axis]) continue;
    return invalid(axis_text("n", axis) + " = " + std::to_string(crop.in.n[axis]) + " leaves nothing between begin " +
                   std::to_string(crop.begin[axis]) + " and end " + std::to_string(crop.end[axis]));
  }
  return {};
}

Result<void> check_epsilon(float epsilon) {
  if (std::isfinite(epsilon) && epsilon > 0) return {};
  return invalid("epsilon = " + std::to_string(epsilon) + " is not above 0");
}

Result<void> check_norm(const NormProblem& norm) {
  if (norm.groups < 1 || norm.in.f % norm.groups != 0) {
    return invalid("f = " + std::to_string(norm.in.f) +
                   " is not a multiple of groups = " + std::to_string(norm.groups));
  }
  return check_epsilon(norm.epsilon);
}

Result<void> check_upsample(const UpsampleProblem& upsample) {
  if (Result<void> positive = check_positive("factor", upsample.factor); !positive) return positive;
  const std::int64_t phases = voxels(upsample.factor);
  if (upsample.kind == UpsampleKind::shuffle && upsample.in.f % phases != 0) {
    return invalid("f = " + std::to_string(upsample.in.f) + " is not a multiple of the " + std::to_string(phases) +
                   " voxels of the factor " + to_string(upsample.factor));
  }
  if (Result<void> covers_window = check_covers(upsample.in.n, upsampling_window(upsample.kind, upsample.factor));
      !covers_window) {
    return covers_window;
  }
  return check_shape(output_shape(upsample));
}

Result<void> check_conv_pool(const ConvPoolProblem& both) {
  if (both.conv.residual) return invalid("a convolution that is pooled has no residual");
  if (Result<void> sound = check_conv(both.conv); !sound) return sound;
  if (const Shape5 between = output_shape(both.conv); both.pool.in != between) {
    return invalid("the pooling reads " + to_string(both.pool.in) + ", the convolution before it writes " +
                   to_string(between));
  }
  return check_pool(both.pool);
}

Result<void> check_concat(const ConcatProblem& concat) {
  if (concat.in.empty()) return invalid("a concatenation needs an input");
  for (const Shape5& shape : concat.in) {
    if (Result<void> sound = check_shape(shape); !sound) return sound;
    if (shape.S != concat.in[0].S || shape.n != concat.in[0].n) {
      return invalid("cannot concatenate " + to_string(concat.in[0]) + " with " + to_string(shape) +
                     ": S and n must be equal");
    }
  }
  return check_shape(output_shape(concat));
}

Result<void> check_multiply(const MultiplyProblem& product) {
  if (product.f_other == 1 || product.f_other == product.in.f) return {};
  return invalid("multiplies " + std::to_string(product.in.f) + " channels by " + std::to_string(product.f_other) +
                 "; as many, or 1, are right");
}

Shape5 conv_output(const ConvProblem& conv) {
  const Vec3 n_out = (conv.in.n - dilated(conv.k, conv.dilation)) / conv.stride + Vec3::cube(1);
  return {conv.in.S, conv.f_out, n_out};
}

Shape5 pool_output(const PoolProblem& pool) {
  const Vec3 offsets = pooled_offsets(pool);
  return {mul(pool.in.S, voxels(offsets)), pool.in.f,
          (pool.in.n - pool.window - offsets + Vec3::cube(1)) / pool.stride + Vec3::cube(1)};
}

Shape5 crop_output(const CropProblem& crop) { return {crop.in.S, crop.in.f, crop.in.n - crop.begin - crop.end}; }

Shape5 upsample_output(const UpsampleProblem& upsample) {
  const std::int64_t phases = upsample.kind == UpsampleKind::shuffle ? voxels(upsample.factor) : 1;
  const Vec3 inner = upsample.in.n - upsampling_window(upsample.kind, upsample.factor) + Vec3::cube(1);
  return {upsample.in.S, upsample.in.f / phases, inner * upsample.factor};
}

Shape5 across_output(const AcrossChannelsProblem& across) {
  return {across.in.S, makes_one_channel(across.kind) ? 1 : across.in.f, across.in.n};
}

Shape5 concat_output(const ConcatProblem& concat) {
  Shape5 shape = concat.in.front();
  for (std::size_t i = 1; i < concat.in.size(); ++i) shape.f = add(shape.f, concat.in[i].f);
  return shape;
}

// Returns the voxels between which an upsampling interpolates: two along each axis with a factor.
std::int64_t neighbours_of(Vec3 factor) { return voxels(min(factor, Vec3::cube(2))); }

std::string activation_text(Activation activation) {
  if (activation.kind == ActivationKind::none) return "";
  std::string text = ", " + std::string(to_string(activation.kind));
  if (!takes_alpha(activation.kind)) return text;
  std::array<char, 32> alpha{};
  std::snprintf(alpha.data(), alpha.size(), " %.9g", static_cast<double>(activation.alpha));
  return text + alpha.data();
}

std::string conv_text(const ConvProblem& conv) {
  std::string text;
  text.reserve(96);
  text.append("conv ").append(to_string(conv.in)).append(" -> ").append(std::to_string(conv.f_out));
  text.append(", k ").append(to_string(conv.k));
  if (conv.dilation != Vec3::cube(1)) text += ", dilation " + to_string(conv.dilation);
  if (conv.stride != Vec3::cube(1)) text += ", stride " + to_string(conv.stride);
  if (conv.groups != 1) text += ", groups " + std::to_string(conv.groups);
  if (conv.residual) text += ", residual";
  return text += activation_text(conv.activation);
}

std::string pool_text(const PoolProblem& pool) {
  std::string text;
  text.reserve(96);
  text += pool.kind == PoolKind::max ? "max pool " : "average pool ";
  text.append(to_string(pool.in)).append(", window ").append(to_string(pool.window));
  text.append(", stride ").append(to_string(pool.stride));
  if (pool.mode == PoolMode::plain) return text += ", plain";
  text.append(", fragments of ").append(to_string(pool.fragments));
  return pool.groups == Vec3::cube(1) ? text : text.append(" in groups ").append(to_string(pool.groups));
}

std::string upsample_text(const UpsampleProblem& upsample) {
  std::string text = "upsample ";
  text.append(to_string(upsample.kind)).append(" ").append(to_string(upsample.in));
  return text.append(", factor ").append(to_string(upsample.factor));
}

std::string norm_text(const NormProblem& norm) {
  return "norm " + to_string(norm.in) + ", groups " + std::to_string(norm.groups) + activation_text(norm.activation);
}

std::string global_pool_text(const GlobalPoolProblem& pool) {
  return (pool.kind == PoolKind::max ? "global max " : "global mean ") + to_string(pool.in);
}

std::string concat_text(const ConcatProblem& concat) {
  std::string text = "concat";
  for (const Shape5& shape : concat.in) text += (text.size() == 6 ? " " : " + ") + to_string(shape);
  return text;
}

}  // namespace

Vec3 upsampling_window(UpsampleKind kind, Vec3 factor) {
  if (kind != UpsampleKind::linear) return Vec3::cube(1);
  return Vec3::cube(1) + min(factor - Vec3::cube(1), Vec3::cube(1)) * Vec3::cube(2);
}

std::int64_t terms_of(const ConvProblem& conv) { return mul(conv.in.f / conv.groups, voxels(conv.k)); }

const ConvProblem* convolution_of(const LayerProblem& problem) {
  if (const auto* const both = std::get_if<ConvPoolProblem>(&problem); both != nullptr) return &both->conv;
  return std::get_if<ConvProblem>(&problem);
}

int input_count(const LayerProblem& problem) {
  return std::visit(
      Overloaded{[](const ConvProblem& conv) { return conv.residual ? 2 : 1; },
                 [](const AddProblem& add) { return add.inputs; }, [](const MultiplyProblem&) { return 2; },
                 [](const ConcatProblem& concat) { return static_cast<int>(concat.in.size()); },
                 [](const auto&) { return 1; }},
      problem);
}

Shape5 input_shape(const LayerProblem& problem, int index) {
  return std::visit(Overloaded{[&](const ConvProblem& conv) { return index == 0 ? conv.in : conv_output(conv); },
                               [&](const ConcatProblem& concat) { return concat.in[static_cast<std::size_t>(index)]; },
                               [](const ConvPoolProblem& both) { return both.conv.in; },
                               [&](const MultiplyProblem& product) {
                                 return Shape5{product.in.S, index == 0 ? product.in.f : product.f_other, product.in.n};
                               },
                               [](const auto& other) { return other.in; }},
                    problem);
}

Shape5 output_shape(const LayerProblem& problem) {
  return std::visit(Overloaded{[](const ConvProblem& conv) { return conv_output(conv); },
                               [](const PoolProblem& pool) { return pool_output(pool); },
                               [](const ConcatProblem& concat) { return concat_output(concat); },
                               [](const CropProblem& crop) { return crop_output(crop); },
                               [](const ConvPoolProblem& both) { return pool_output(both.pool); },
                               [](const UpsampleProblem& upsample) { return upsample_output(upsample); },
                               [](const AcrossChannelsProblem& across) { return across_output(across); },
                               [](const auto& other) { return other.in; }},
                    problem);
}

Result<void> check(const LayerProblem& problem) {
  const bool has_input = !std::holds_alternative<ConcatProblem>(problem);
  if (has_input) {
    if (Result<void> sound = check_shape(input_shape(problem, 0)); !sound) return sound;
  }
  return std::visit(Overloaded{[](const ConvProblem& conv) { return check_conv(conv); },
                               [](const PoolProblem& pool) { return check_pool(pool); },
                               [](const ConcatProblem& concat) { return check_concat(concat); },
                               [](const CropProblem& crop) { return check_crop(crop); },
                               [](const ConvPoolProblem& both) { return check_conv_pool(both); },
                               [](const UpsampleProblem& upsample) { return check_upsample(upsample); },
                               [](const NormProblem& norm) { return check_norm(norm); },
                               [](const AcrossChannelsProblem& across) { return check_epsilon(across.epsilon); },
                               [](const MultiplyProblem& product) { return check_multiply(product); },
                               [](const AddProblem& add) -> Result<void> {
                                 if (add.inputs < 2) return invalid("an addition needs two inputs or more");
                                 return {};
                               },
                               [](const auto&) { return Result<void>(); }},
                    problem);
}

double direct_flops(const LayerProblem& problem) {
  const Shape5 out = output_shape(problem);
  const auto count = static_cast<double>(elements(out));
  return std::visit(
      Overloaded{[&](const ConvProblem& conv) {
                   const double own = 2.0 * count * static_cast<double>(terms_of(conv));
                   return conv.residual ? own + count : own;
                 },
                 [&](const PoolProblem& pool) { return count * static_cast<double>(voxels(pool.window)); },
                 [](const ConvPoolProblem& both) { return direct_flops(both.conv) + direct_flops(both.pool); },
                 [&](const AddProblem& add) { return count * (add.inputs - 1); },
                 [&](const UpsampleProblem& upsample) {
                   const bool interpolates =
                       upsample.kind == UpsampleKind::linear || upsample.kind == UpsampleKind::aligned;
                   return interpolates ? count * 2 * static_cast<double>(neighbours_of(upsample.factor)) : count;
                 },
                 [](const AcrossChannelsProblem& across) { return static_cast<double>(elements(across.in)); },
                 // A sum and a sum of squares, then a product and a sum.
                 [&](const NormProblem&) { return 5.0 * count; }, [&](const auto&) { return count; }},
      problem);
}

std::string_view to_string(UpsampleKind kind) {
  static constexpr std::array<std::string_view, 4> names = {"nearest", "shuffle", "linear", "aligned"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(AcrossKind kind) {
  static constexpr std::array<std::string_view, 5> names = {"softmax", "log softmax", "arg max", "arg max last",
                                                            "channel norm"};
  return names[static_cast<std::size_t>(kind)];
}

std::string to_string(const LayerProblem& problem) {
  return std::visit(
      Overloaded{
          [](const ConvProblem& conv) { return conv_text(conv); },
          [](const PoolProblem& pool) { return pool_text(pool); },
          [](const ActivationProblem& p) { return "activation " + to_string(p.in) + activation_text(p.activation); },
          [](const AcrossChannelsProblem& p) { return std::string(to_string(p.kind)) + " " + to_string(p.in); },
          [](const ScaleShiftProblem& p) { return "scale and shift " + to_string(p.in); },
          [](const AddProblem& p) {
            return "add " + std::to_string(p.inputs) + " of " + to_string(p.in) + activation_text(p.activation);
          },
          [](const MultiplyProblem& p) {
            return "multiply " + to_string(p.in) + " by " + std::to_string(p.f_other) + " channels";
          },
          [](const ConcatProblem& concat) { return concat_text(concat); },
          [](const ConvPoolProblem& both) { return conv_text(both.conv) + ", then " + pool_text(both.pool); },
          [](const ReorderProblem& p) {
            return "reorder " + to_string(p.in) + " from " + to_string(p.from) + " to " + to_string(p.to);
          },
          [](const CropProblem& p) {
            return "crop " + to_string(p.in) + ", begin " + to_string(p.begin) + ", end " + to_string(p.end);
          },
          [](const UpsampleProblem& upsample) { return upsample_text(upsample); },
          [](const NormProblem& norm) { return norm_text(norm); },
          [](const GlobalPoolProblem& pool) { return global_pool_text(pool); }},
      problem);
}

}  // namespace znni
