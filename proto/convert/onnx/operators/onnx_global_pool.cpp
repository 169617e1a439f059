#include "proto/convert/onnx/operators/onnx_global_pool.hpp"

#include <set>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr int axes_before_space = 2;

Result<void> append_pool(const OnnxNode& node, OnnxBuilder& builder, PoolKind kind, int axes) {
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  builder.append(node.proto, GlobalPool{kind}, {*value}, builder.channels(*value));
  builder.note_pooled(node.proto, axes);
  return {};
}

// Returns the axes that the node names; none if it names none.
Result<std::vector<std::int64_t>> named_axes(const OnnxNode& node, const OnnxBuilder& builder) {
  if (!OnnxBuilder::has_input(node.proto, 1)) return node.attributes.integers("axes");
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, 1);
  if (tensor) return integers_of(*tensor);
  return unsupported("its axes " + in_quotes(node.proto.input(1)) + " are computed, which is not supported");
}

// Fails unless the axes are all of space.
Result<void> check_spatial(const std::vector<std::int64_t>& axes, int rank) {
  std::set<std::int64_t> reduced;
  for (const std::int64_t axis : axes) reduced.insert(axis < 0 ? axis + rank + axes_before_space : axis);
  std::set<std::int64_t> space;
  for (int axis = 0; axis < rank; ++axis) space.insert(axis + axes_before_space);
  if (reduced == space) return {};
  std::string text;
  for (const std::int64_t axis : axes) text.append(text.empty() ? "" : ", ").append(std::to_string(axis));
  return unsupported("over axes [" + text.substr(0, 80) + "] is not supported; only over all spatial axes");
}

Result<void> convert_reduction(const OnnxNode& node, OnnxBuilder& builder, PoolKind kind) {
  const Result<std::vector<std::int64_t>> axes = named_axes(node, builder);
  if (!axes) return axes.error();
  if (Result<void> sound = check_spatial(*axes, builder.rank()); !sound) return sound;
  const Result<std::int64_t> keeps = node.attributes.integer("keepdims", 1);
  if (!keeps) return keeps.error();
  return append_pool(node, builder, kind, axes_before_space + (*keeps != 0 ? builder.rank() : 0));
}

}  // namespace

Result<void> convert_global_average_pool(const OnnxNode& node, OnnxBuilder& builder) {
  return append_pool(node, builder, PoolKind::average, axes_before_space + builder.rank());
}

Result<void> convert_global_max_pool(const OnnxNode& node, OnnxBuilder& builder) {
  return append_pool(node, builder, PoolKind::max, axes_before_space + builder.rank());
}

Result<void> convert_reduce_mean(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_reduction(node, builder, PoolKind::average);
}

Result<void> convert_reduce_max(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_reduction(node, builder, PoolKind::max);
}

}  // namespace znni
