#include "proto/convert/onnx/folding/onnx_fold_sequence.hpp"

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

using Sequence = std::vector<KnownTensor>;

// Returns the place at input `index` of the node, counted from the end if it is below 0; `otherwise` without one. Fails
// beyond [0, most].
Result<std::size_t> place_of(const onnx::NodeProto& node, const OnnxBuilder& builder, int index, std::int64_t n,
                             std::int64_t most) {
  if (!OnnxBuilder::has_input(node, index)) return static_cast<std::size_t>(n);
  const std::optional<KnownTensor> tensor = builder.known_at(node, index);
  if (!tensor) return unsupported("its position is not known");
  const Result<std::vector<std::int64_t>> values = integers_of(*tensor);
  if (!values) return values.error();
  if (values->size() != 1) return corrupt("its position is no scalar");
  const std::int64_t found = values->front() < 0 ? values->front() + n : values->front();
  if (found >= 0 && found <= most) return static_cast<std::size_t>(found);
  return corrupt("has position " + std::to_string(values->front()) + " of " + std::to_string(n) + " tensors");
}

Result<void> insert(const onnx::NodeProto& node, OnnxBuilder& builder, Sequence sequence) {
  const std::optional<KnownTensor> tensor = builder.known_at(node, 1);
  if (!tensor) return unsupported("what it inserts is not known");
  const auto n = static_cast<std::int64_t>(sequence.size());
  const Result<std::size_t> place = place_of(node, builder, 2, n, n);
  if (!place) return place.error();
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(*place), *tensor);
  return builder.known().set_sequence(node.output(0), std::move(sequence));
}

Result<void> take(const onnx::NodeProto& node, OnnxBuilder& builder, const Sequence& sequence) {
  const auto n = static_cast<std::int64_t>(sequence.size());
  if (!OnnxBuilder::has_input(node, 1)) return corrupt("input 1 is missing");
  const Result<std::size_t> place = place_of(node, builder, 1, n, n - 1);
  if (!place) return place.error();
  return builder.known().set(node.output(0), sequence[*place]);
}

}  // namespace

Result<bool> fold_sequence(const onnx::NodeProto& node, OnnxBuilder& builder) {
  if (node.output_size() != 1) return false;
  if (is_operator(node, "SequenceEmpty")) {
    const Result<void> set = builder.known().set_sequence(node.output(0), {});
    return set ? Result<bool>(true) : set.error();
  }
  const bool inserts = is_operator(node, "SequenceInsert");
  if (!inserts && !is_operator(node, "SequenceAt")) return false;
  const Sequence* found = OnnxBuilder::has_input(node, 0) ? builder.known().sequence(node.input(0)) : nullptr;
  if (found == nullptr) return false;
  const Result<void> set = inserts ? insert(node, builder, *found) : take(node, builder, *found);
  return set ? Result<bool>(true) : set.error();
}

}  // namespace znni
