#include "proto/convert/onnx/operators/onnx_norm.hpp"

#include <cmath>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr std::int64_t opset_of_training_mode = 14;      // before, BatchNormalization has more outputs in training
constexpr std::int64_t opset_of_scale_per_channel = 21;  // before, GroupNormalization has a scale per group
constexpr int scale_input = 1;
constexpr int shift_input = 2;

// A normalisation of a value in `groups` groups, whose scale and shift have `numbers` elements: one per group or one
// per channel. unknown_channels if that is not known.
struct NormForm {
  int value = 0;
  std::int64_t groups = 1;
  std::int64_t numbers = 1;
};

Result<float> epsilon_of(const OnnxNode& node) {
  Result<float> epsilon = node.attributes.real("epsilon", 1e-5F);
  if (!epsilon || (std::isfinite(*epsilon) && *epsilon > 0)) return epsilon;
  return unsupported("epsilon = " + std::to_string(*epsilon) + " is not supported; a finite number above 0 is");
}

// Returns the numbers of the constant at input `index`, each as often as makes one per channel.
Result<std::vector<float>> per_channel(const OnnxNode& node, const OnnxBuilder& builder, const NormForm& form,
                                       int index) {
  Result<std::vector<float>> numbers = builder.vector(node.proto, index, unknown_channels);
  if (!numbers || form.numbers == unknown_channels) return numbers;
  const auto found = static_cast<std::int64_t>(numbers->size());
  const std::int64_t f = builder.channels(form.value);
  if (found != form.numbers) {
    return corrupt("input " + in_quotes(node.proto.input(index)) + " has " + std::to_string(found) + " elements; one " +
                   (form.numbers == f ? "per channel, " : "per group, ") + std::to_string(form.numbers) + ", is right");
  }
  std::vector<float> repeated;
  for (const float number : *numbers) repeated.insert(repeated.end(), static_cast<std::size_t>(f / found), number);
  return repeated;
}

Result<void> append_norm(const OnnxNode& node, OnnxBuilder& builder, const NormForm& form) {
  const Result<float> epsilon = epsilon_of(node);
  if (!epsilon) return epsilon.error();
  Result<std::vector<float>> scale = per_channel(node, builder, form, scale_input);
  if (!scale) return scale.error();
  Result<std::vector<float>> shift = per_channel(node, builder, form, shift_input);
  if (!shift) return shift.error();
  builder.append(node.proto, Norm{form.groups, *epsilon, {}}, {form.value}, builder.channels(form.value),
                 {{}, {}, *std::move(scale), *std::move(shift)});
  return {};
}

// Converts the normalisation of groups that a Reshape made an axis.
Result<void> convert_grouped(const OnnxNode& node, OnnxBuilder& builder, const GroupedValue& grouped) {
  const std::int64_t groups = grouped.groups;
  if (Result<void> made = append_norm(node, builder, {grouped.value, groups, groups}); !made) return made;
  builder.group(node.proto, {builder.value_of(node.proto.output(0)), groups});
  return {};
}

// Returns the number of groups of `f` channels.
Result<std::int64_t> groups_of(const OnnxNode& node, std::int64_t f) {
  if (node.attributes.find("num_groups") == nullptr) return corrupt("attribute 'num_groups' is missing");
  const Result<std::int64_t> groups = node.attributes.integer("num_groups", 1);
  if (!groups) return groups;
  if (*groups < 1) return corrupt("num_groups = " + std::to_string(*groups) + "; 1 or more is right");
  if (f == unknown_channels || f % *groups == 0) return groups;
  return corrupt("num_groups = " + std::to_string(*groups) + " does not divide the " + std::to_string(f) +
                 " channels; a divisor is right");
}

}  // namespace

Result<void> convert_instance_normalization(const OnnxNode& node, OnnxBuilder& builder) {
  if (const GroupedValue* grouped = builder.grouped(node.proto.input(0))) {
    return convert_grouped(node, builder, *grouped);
  }
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  const std::int64_t f = builder.channels(*value);
  return append_norm(node, builder, {*value, f, f});
}

Result<void> convert_group_normalization(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  const std::int64_t f = builder.channels(*value);
  const Result<std::int64_t> groups = groups_of(node, f);
  if (!groups) return groups.error();
  const bool has_one_per_channel = f == unknown_channels || builder.opset() >= opset_of_scale_per_channel;
  return append_norm(node, builder, {*value, *groups, has_one_per_channel ? f : *groups});
}

Result<bool> is_in_training(const OnnxNode& node, const OnnxBuilder& builder) {
  const Result<std::int64_t> training = node.attributes.integer("training_mode", 0);
  if (!training) return training.error();
  bool more_outputs = false;
  for (int i = 1; i < node.proto.output_size(); ++i) more_outputs = more_outputs || !node.proto.output(i).empty();
  return *training != 0 || (more_outputs && builder.opset() < opset_of_training_mode);
}

Result<void> convert_normalization_in_training(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (builder.batch() != 1 || builder.pooled_axes(node.proto.input(0)) > 0) {
    return unsupported(
        "normalises by the statistics of a batch (training mode), which is supported of a batch of 1 and of voxels "
        "alone; export the net in evaluation mode");
  }
  const std::int64_t f = builder.channels(*value);
  return append_norm(node, builder, {*value, f, f});
}

}  // namespace znni
