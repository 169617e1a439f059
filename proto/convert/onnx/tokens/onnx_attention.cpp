#include "proto/convert/onnx/tokens/onnx_attention.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/tokens/onnx_laid.hpp"

namespace znni {
namespace {

// All tokens of a value, divided among heads.
struct Heads {
  int value = 0;
  std::int64_t count = 1;
  std::int64_t tokens = 1;
};

Error not_tokens(const char* what) {
  return unsupported(std::string("attention of ") + what +
                     " that are not all voxels of a tensor, [heads, tokens, channels], is not supported");
}

// Returns the channels of the parts of leading axes, which must be one part of heads at most, besides the batch.
std::optional<LayoutPart> heads_of(const AxisLayout& layout) {
  LayoutPart heads;
  for (std::size_t axis = 0; axis + 2 < layout.axes.size(); ++axis) {
    for (const LayoutPart& part : layout.axes[axis]) {
      const bool is_batch = part.channel_step == 0 && part.voxel_step == 0;
      if (is_batch) continue;
      if (part.voxel_step != 0 || heads.extent > 1) return std::nullopt;
      heads = part;
    }
  }
  return heads;
}

// Returns the tensor, [..., tokens, channels], as heads of neighbouring channels of a value of its own.
Result<Heads> heads_at(const OnnxNode& node, OnnxBuilder& builder, const AxisLayout& layout, const char* what) {
  if (layout.axes.size() < 2) return not_tokens(what);
  const LayoutAxis& tokens = layout.axes[layout.axes.size() - 2];
  const LayoutAxis& within = layout.axes.back();
  const std::optional<LayoutPart> heads = heads_of(layout);
  const bool are_channels = within.empty() || (within.size() == 1 && within.front().voxel_step == 0);
  std::int64_t all = 1;
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    all = mul(all, extent_along(builder.extents(layout.value), axis)->least);
  }
  if (!heads || !are_channels || tokens != axis_of_voxels(all)) return not_tokens(what);
  std::vector<std::int64_t> channels;
  for (std::int64_t head = 0; head < heads->extent; ++head) {
    for (std::int64_t i = 0; i < extent_of(within); ++i) {
      const std::int64_t step = within.empty() ? 0 : within.front().channel_step;
      channels.push_back(layout.first_channel + head * heads->channel_step + i * step);
    }
  }
  const Result<int> value = selected(node, builder, layout.value, channels);
  if (!value) return value.error();
  return Heads{*value, heads->extent, all};
}

// Swaps the last two axes.
AxisLayout swapped(AxisLayout layout) {
  std::swap(layout.axes.back(), layout.axes[layout.axes.size() - 2]);
  return layout;
}

// Appends attention; `values` are [..., tokens, channels]. Returns the layout of what it writes, in the same order.
Result<AxisLayout> attend(const OnnxNode& node, OnnxBuilder& builder, const TokenScores& scores,
                          const AxisLayout& values) {
  if (!scores.is_softmax) return unsupported("of scores of tokens without a softmax is not supported");
  const Result<Heads> q = heads_at(node, builder, scores.queries, "queries");
  if (!q) return q.error();
  const Result<Heads> k = heads_at(node, builder, scores.keys, "keys");
  if (!k) return k.error();
  const Result<Heads> v = heads_at(node, builder, values, "values");
  if (!v) return v.error();
  if (q->count != k->count || q->count != v->count || q->tokens != k->tokens || q->tokens != v->tokens) {
    return unsupported("attention between tensors of different extents or heads is not supported");
  }
  if (builder.channels(q->value) != builder.channels(k->value)) {
    return corrupt("multiplies queries and keys of different channels");
  }
  const std::int64_t f = builder.channels(v->value);
  AxisLayout made = values;
  made.first_channel = 0;
  made.value = builder.append_part(node.proto, Attention{q->count, scores.scale},
                                   std::vector<int>{q->value, k->value, v->value}, f);
  const std::int64_t of_head = f / q->count;
  for (std::size_t axis = 0; axis + 2 < made.axes.size(); ++axis) {
    for (LayoutPart& part : made.axes[axis]) {
      if (part.channel_step != 0) part.channel_step = of_head;
    }
  }
  made.axes.back() = axis_of_channels(of_head);
  return made;
}

// Notes the scores of [..., tokens, channels] of both.
Result<void> note_scores(const OnnxNode& node, OnnxBuilder& builder, AxisLayout queries, AxisLayout keys) {
  if (queries.axes.size() < 2 || queries.axes.size() != keys.axes.size() ||
      extent_of(queries.axes.back()) != extent_of(keys.axes.back())) {
    return unsupported("of two computed tensors is not supported; only of queries and keys of attention");
  }
  builder.tokens().note(node.proto.output(0), {std::move(queries), std::move(keys), 1, false, false});
  return {};
}

const TokenScores* scores_at(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  return builder.tokens().scores(node.proto.input(index));
}

// The letters of an Einsum of two tensors.
struct Letters {
  std::string first;
  std::string second;
  std::string result;
};

std::optional<Letters> letters_of(std::string equation) {
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(',');
  const std::size_t arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return std::nullopt;
  Letters letters{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2)};
  for (std::string text : {letters.first, letters.second, letters.result}) {
    std::sort(text.begin(), text.end());
    const bool are_letters = std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'z'; });
    if (!are_letters || text.size() < 2 || std::unique(text.begin(), text.end()) != text.end()) return std::nullopt;
  }
  return letters;
}

bool has(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

// Returns the layout with its axes, called `from`, in the order `to`; nothing if these are others.
std::optional<AxisLayout> in_order(const AxisLayout& layout, const std::string& from, const std::string& to) {
  if (from.size() != layout.axes.size() || from.size() != to.size()) return std::nullopt;
  std::vector<std::size_t> order;
  for (const char letter : to) {
    if (!has(from, letter)) return std::nullopt;
    order.push_back(from.find(letter));
  }
  return permuted(layout, order);
}

// Returns the letter of both tensors that the result has not; nothing if that is not one letter.
std::optional<char> summed(const Letters& letters) {
  std::string all;
  for (const char letter : letters.first) {
    if (has(letters.second, letter) && !has(letters.result, letter)) all.push_back(letter);
  }
  return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
}

Error unknown_equation(const std::string& equation) {
  return unsupported("equation " + in_quotes(equation) + " is not supported; only products of attention");
}

// Notes the scores of an equation such as "bhxd,bhyd->bhxy".
Result<void> note_scores(const OnnxNode& node, OnnxBuilder& builder, const Letters& letters, char sum) {
  const Result<AxisLayout> first = layout_at(node, builder, 0);
  if (!first) return first.error();
  const Result<AxisLayout> second = layout_at(node, builder, 1);
  if (!second) return second.error();
  const std::string leading = letters.result.substr(0, letters.result.size() - 2);
  const char row = letters.result[leading.size()];
  const std::optional<AxisLayout> queries = in_order(*first, letters.first, leading + row + sum);
  const std::optional<AxisLayout> keys = in_order(*second, letters.second, leading + letters.result.back() + sum);
  if (!queries || !keys) return unsupported("of two computed tensors is not supported; only of queries and keys");
  return note_scores(node, builder, *queries, *keys);
}

// Appends attention of an equation such as "bhxy,bhyd->bhxd".
Result<void> attend(const OnnxNode& node, OnnxBuilder& builder, const Letters& letters, char sum) {
  const TokenScores scores = *scores_at(node, builder, 0);
  const Result<AxisLayout> second = layout_at(node, builder, 1);
  if (!second) return second.error();
  const std::size_t leading = letters.first.size() - 2;
  const bool over_keys = letters.first.back() == sum && !scores.is_turned;
  std::string rest = letters.second;
  for (const char letter : letters.first) std::erase(rest, letter);
  const std::string before = letters.first.substr(0, leading);
  const std::optional<AxisLayout> values =
      rest.size() == 1 ? in_order(*second, letters.second, before + sum + rest) : std::nullopt;
  if (!over_keys || !values) return unsupported("of scores of attention and these axes is not supported");
  const Result<AxisLayout> made = attend(node, builder, scores, *values);
  if (!made) return made.error();
  std::optional<AxisLayout> wanted = in_order(*made, before + letters.first[leading] + rest, letters.result);
  if (!wanted) return unsupported("of scores of attention and these axes is not supported");
  keep_layout(node.proto.output(0), builder, *std::move(wanted));
  return {};
}

}  // namespace

bool is_product_of_tensors(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const bool is_product = is_operator(node, "MatMul") || is_operator(node, "Einsum");
  return is_product && node.input_size() == 2 && !builder.is_known(node.input(0)) && !builder.is_known(node.input(1));
}

Result<void> multiply_tokens(const OnnxNode& node, OnnxBuilder& builder) {
  const TokenScores* first = scores_at(node, builder, 0);
  const TokenScores* second = scores_at(node, builder, 1);
  if (first == nullptr && second == nullptr) {
    const Result<AxisLayout> queries = layout_at(node, builder, 0);
    if (!queries) return queries.error();
    const Result<AxisLayout> keys = layout_at(node, builder, 1);
    if (!keys) return keys.error();
    return keys->axes.size() < 2 ? not_tokens("keys") : note_scores(node, builder, *queries, swapped(*keys));
  }
  // Values stand behind the scores, or before turned ones, whose queries come last.
  const bool is_turned = second != nullptr;
  const TokenScores scores = is_turned ? *second : *first;
  const bool suits = (first == nullptr) != (second == nullptr) && scores.is_turned == is_turned;
  if (!suits) return unsupported("of scores of attention in this order is not supported");
  const Result<AxisLayout> values = layout_at(node, builder, is_turned ? 0 : 1);
  if (!values) return values.error();
  if (values->axes.size() < 2) return not_tokens("values");
  Result<AxisLayout> made = attend(node, builder, scores, is_turned ? swapped(*values) : *values);
  if (!made) return made.error();
  keep_layout(node.proto.output(0), builder, is_turned ? swapped(*made) : *made);
  return {};
}

Result<void> convert_einsum(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::string> equation = node.attributes.text("equation", "");
  if (!equation) return equation.error();
  const std::optional<Letters> letters = letters_of(*equation);
  const std::optional<char> sum = letters ? summed(*letters) : std::nullopt;
  if (!sum || !is_product_of_tensors(node.proto, builder)) return unknown_equation(*equation);
  const bool has_scores = scores_at(node, builder, 0) != nullptr;
  return has_scores ? attend(node, builder, *letters, *sum) : note_scores(node, builder, *letters, *sum);
}

Result<void> scale_scores(const OnnxNode& node, OnnxBuilder& builder) {
  const int index = scores_at(node, builder, 0) != nullptr ? 0 : 1;
  TokenScores scores = *scores_at(node, builder, index);
  const onnx::TensorProto* constant = builder.constant(node.proto, 1 - index);
  if (constant == nullptr) return unsupported("of scores of attention and a computed tensor is not supported");
  const Result<std::vector<float>> numbers = builder.floats_of(*constant);
  if (!numbers) return numbers.error();
  const bool divides = is_operator(node.proto, "Div");
  const bool suits = numbers->size() == 1 && !scores.is_softmax && !(divides && index == 1);
  const float factor = suits ? (divides ? 1 / numbers->front() : numbers->front()) : 0;
  if (!suits || !std::isfinite(factor)) {
    return unsupported("scales scores of attention by other than one number before their softmax");
  }
  scores.scale *= factor;
  builder.tokens().note(node.proto.output(0), std::move(scores));
  return {};
}

Result<void> share_scores(const OnnxNode& node, OnnxBuilder& builder) {
  TokenScores scores = *scores_at(node, builder, 0);
  const Result<std::int64_t> axis = node.attributes.integer("axis", builder.opset() < 13 ? 1 : -1);
  if (!axis) return axis.error();
  const Result<std::size_t> place = place_of_axis(*axis, scores.queries.axes.size());
  if (!place) return place.error();
  if (*place + 1 != scores.queries.axes.size() || scores.is_turned || scores.is_softmax) {
    return unsupported("of scores of attention over other than their last axis, the keys, is not supported");
  }
  scores.is_softmax = true;
  builder.tokens().note(node.proto.output(0), std::move(scores));
  return {};
}

}  // namespace znni
