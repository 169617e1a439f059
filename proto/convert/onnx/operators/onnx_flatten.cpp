#include "proto/convert/onnx/operators/onnx_flatten.hpp"

#include <algorithm>
#include <array>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_linear.hpp"
#include "proto/convert/onnx/operators/onnx_pooled.hpp"
#include "proto/convert/onnx/operators/onnx_reshape.hpp"
#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"

namespace znni {
namespace {

using Names = std::string_view;

constexpr int axes_of_row = 2;
constexpr std::array<Names, 1> flatten_attributes = {"axis"};
// Leave numbers as they are.
constexpr std::array<Names, 3> copies = {"Cast", "Dropout", "Identity"};
constexpr std::array<Names, 4> gemm_attributes = {"alpha", "beta", "transA", "transB"};

// Fails if larger volumes would make something else of the value at some positions than the patch does.
Result<void> check_means_the_same_everywhere(const OnnxBuilder& builder, int value) {
  const WayOfValue way = builder.way(value);
  if (way.pads) {
    return unsupported(
        "flattens voxels of a net that pads (or rounds extents up, ceil_mode), which is not supported: within a larger "
        "volume it would see voxels where the patch has its padding; train it without padding, or export the layers "
        "before");
  }
  if (way.reads_all) {
    return unsupported(
        "flattens voxels of a net that normalises or pools over all voxels of its patch, which is not supported; train "
        "it with BatchNorm, or export the layers before");
  }
  if (!way.upsamples) return {};
  return unsupported(
      "flattens voxels of a net that upsamples, which is not supported: they differ from one position to the next; "
      "export the layers before");
}

// Returns the extents of the value of a patch.
Result<Vec3> window_of(const OnnxBuilder& builder, int value) {
  Vec3 window = Vec3::cube(1);
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    const std::optional<VolumeNumber> extent = extent_along(builder.extents(value), axis);
    if (!extent || !is_constant(*extent)) {
      return unsupported(
          "flattens voxels whose extents the file leaves open, which is not supported; export with static axes, those "
          "of the patch that it classifies (the batch may stay open)");
    }
    window[axis] = extent->least;
  }
  return window;
}

// Returns whether the batch comes first, and no voxel is there twice.
bool is_row_of_all(const TurnedValue& turned) {
  const bool is_first = !turned.axes.empty() && turned.axes.front() == 0;
  return is_first && std::all_of(turned.axes.begin(), turned.axes.end(), [](int axis) { return axis >= -1; });
}

std::int64_t length_of(const OnnxBuilder& builder, int value, Vec3 window) {
  return mul(builder.channels(value), voxels(window));
}

// Returns for each number in a row its place in [f][window...], of an axis of the value that follows `before`.
std::vector<std::size_t> with_axis(const std::vector<std::size_t>& before, std::int64_t extent, std::int64_t stride) {
  std::vector<std::size_t> places;
  for (const std::size_t place : before) {
    for (std::int64_t i = 0; i < extent; ++i) places.push_back(place + static_cast<std::size_t>(i * stride));
  }
  return places;
}

Result<std::int64_t> axis_of_flatten(const OnnxNode& node, std::size_t axes) {
  const Result<std::int64_t> axis = node.attributes.integer("axis", 1);
  if (!axis) return axis;
  const std::int64_t place = *axis < 0 ? *axis + static_cast<std::int64_t>(axes) : *axis;
  if (place == 1) return place;
  return unsupported("axis = " + std::to_string(*axis) + " is not supported; only 1");
}

// Converts a Flatten or Reshape of what is flat.
Result<void> keep_flat(const OnnxNode& node, OnnxBuilder& builder) {
  const FlatTensor flat = *builder.flat(node.proto.input(0));
  builder.alias(node.proto, builder.value_of(node.proto.input(0)));
  builder.note_flat(node.proto, flat);
  return {};
}

Result<void> flatten_again(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> axis = axis_of_flatten(node, axes_of_row);
  return axis ? keep_flat(node, builder) : axis.error();
}

Result<void> reshape_flat(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const TensorExtents extents = {VolumeNumber{builder.batch(), {}},
                                 VolumeNumber{row_length(builder, node.proto.input(0)), {}}};
  const Result<std::vector<VolumeNumber>> target = target_of(node, builder, extents);
  if (!target) return target.error();
  if (asks_for(*target, extents)) return keep_flat(node, builder);
  return unsupported("of flattened voxels to " + text_of(TensorExtents(target->begin(), target->end())) +
                     " is not supported; only to " + text_of(extents) + ", as they are");
}

// Converts a BatchNormalization of a row, each number by itself.
Result<void> normalise_row(const OnnxNode& node, OnnxBuilder& builder) {
  const std::string& input = node.proto.input(0);
  const int value = builder.value_of(input);
  const bool is_known = builder.channels(value) != unknown_channels && !builder.is_guessed(value);
  const Result<NodeWeights> own =
      batch_normalization_of(node, builder, is_known ? row_length(builder, input) : unknown_channels);
  if (!own) return own.error();
  FlatTensor flat = *builder.flat(input);
  flat.scale.resize(own->scale.size(), 1.0F);
  flat.shift.resize(own->shift.size(), 0.0F);
  for (std::size_t i = 0; i < own->scale.size(); ++i) {
    const double shift = static_cast<double>(own->scale[i]) * static_cast<double>(flat.shift[i]);
    flat.shift[i] = static_cast<float>(shift + static_cast<double>(own->shift[i]));
    flat.scale[i] *= own->scale[i];
  }
  builder.alias(node.proto, value);
  builder.note_flat(node.proto, std::move(flat));
  return {};
}

// Rows without attributes have those of the operator's own row.
constexpr std::array<OnnxOperator, 5> flat_operators = {{
    {"BatchNormalization", 5, 5, {}, normalise_row},
    {"Flatten", 1, 1, flatten_attributes, flatten_again},
    {"Gemm", 2, 3, gemm_attributes, convert_gemm},
    {"MatMul", 2, 2, {}, convert_mat_mul},
    {"Reshape", 2, 2, {}, reshape_flat},
}};

}  // namespace

Result<void> flatten(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned) {
  if (Result<void> same = check_means_the_same_everywhere(builder, turned.value); !same) return same;
  const Result<Vec3> window = window_of(builder, turned.value);
  if (!window) return window.error();
  if (!is_row_of_all(turned)) return unsupported("of other than a batch before all of its voxels is not supported");
  builder.alias(node.proto, turned.value);
  if (*window == Vec3::cube(1)) {
    builder.note_pooled(node.proto, axes_of_row);
  } else {
    builder.note_flat(node.proto, {*window, turned.axes});
  }
  return {};
}

Result<void> flatten_to(const OnnxNode& node, OnnxBuilder& builder, const TurnedValue& turned,
                        const std::vector<VolumeNumber>& target) {
  const Result<Vec3> window = window_of(builder, turned.value);
  if (!window) return window.error();
  const TensorExtents row = {VolumeNumber{builder.batch(), {}},
                             VolumeNumber{length_of(builder, turned.value, *window), {}}};
  if (asks_for(target, row)) return flatten(node, builder, turned);
  return unsupported("to " + text_of(TensorExtents(target.begin(), target.end())) + " is not supported; only to " +
                     text_of(row) + ", all numbers of a patch");
}

Result<void> convert_flatten_of_voxels(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<TurnedValue> turned = turned_at(node, builder);
  if (!turned) return turned.error();
  if (builder.is_guessed(turned->value)) {
    builder.guess(node.proto);
    return {};
  }
  const Result<std::int64_t> axis = axis_of_flatten(node, turned->axes.size());
  return axis ? flatten(node, builder, *turned) : axis.error();
}

std::int64_t row_length(const OnnxBuilder& builder, const std::string& tensor) {
  return length_of(builder, builder.value_of(tensor), builder.flat(tensor)->window);
}

std::vector<std::size_t> places_in_kernel(const OnnxBuilder& builder, const std::string& tensor) {
  const FlatTensor& flat = *builder.flat(tensor);
  const Vec3 window = flat.window;
  const std::int64_t f = builder.channels(builder.value_of(tensor));
  const std::array<std::int64_t, 3> strides = {window.y * window.x, window.x, 1};
  std::vector<std::size_t> places = {0};
  for (const int axis : flat.axes) {
    const int spatial = axis + 1 - builder.rank();
    if (axis == 1) places = with_axis(places, f, voxels(window));
    if (axis > 1) places = with_axis(places, window[spatial], strides[static_cast<std::size_t>(spatial)]);
  }
  return places;
}

bool reads_flat(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  if (is_operator(node, "Shape")) return false;
  return std::any_of(node.input().begin(), node.input().end(),
                     [&](const std::string& input) { return builder.flat(input) != nullptr; });
}

const OnnxOperator* find_flat_operator(const onnx::NodeProto& node) {
  const auto row = std::find_if(flat_operators.begin(), flat_operators.end(),
                                [&](const OnnxOperator& known) { return is_operator(node, known.name); });
  const bool has_row = row != flat_operators.end();
  return has_row ? &*row : nullptr;
}

Result<void> check_keeps_flat(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  const FlatTensor* flat = builder.flat(node.input(0));
  const bool is_normalised = flat != nullptr && !flat->scale.empty();
  const bool copies_it = std::any_of(copies.begin(), copies.end(), [&](Names name) { return is_operator(node, name); });
  if (flat != nullptr && makes_each_of_itself(node) && (!is_normalised || copies_it)) return {};
  if (is_normalised) {
    return unsupported(
        "its input is flattened and normalised, number by number, which is not supported here; only a linear layer "
        "(Gemm, or MatMul by a constant) may read that");
  }
  return unsupported(
      "its input is flattened, which is not supported here; only a linear layer (Gemm, or MatMul by a constant) and "
      "activations before it may read that");
}

Result<void> check_axes_of_outputs(const OnnxGraph& graph, const OnnxBuilder& builder) {
  // What is pooled of all voxels has its voxel everywhere.
  const auto axes_of_patch = [&](const std::string& output) {
    return builder.is_of_patch(output) ? builder.pooled_axes(output) : 0;
  };
  const int axes = axes_of_patch(graph.outputs.front());
  for (const std::string& output : graph.outputs) {
    if (builder.flat(output) != nullptr) {
      return unsupported("the output " + in_quotes(output) +
                         " is flattened, which is not supported; export the layers before, or with a linear layer "
                         "behind");
    }
    if (axes_of_patch(output) == axes) continue;
    return unsupported("the outputs " + in_quotes(graph.outputs.front()) + " and " + in_quotes(output) +
                       " have other axes, of which one is that of a linear layer of a patch: choose by --outputs, or "
                       "by the parameter 'outputs' of config.pbtxt");
  }
  return {};
}

}  // namespace znni
