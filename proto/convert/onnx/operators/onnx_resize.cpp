#include "proto/convert/onnx/operators/onnx_resize.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_edges.hpp"

namespace znni {
namespace {

constexpr int scales_of_resize = 2;
constexpr int sizes_of_resize = 3;
constexpr std::int64_t opset_of_resize = 11;  // before, Resize has Upsample's inputs

Result<void> require_text(const OnnxAttributes& attributes, std::string_view name, std::string_view otherwise,
                          std::string_view only) {
  const Result<std::string> value = attributes.text(name, otherwise);
  if (!value) return value.error();
  if (*value == only) return {};
  return unsupported(std::string(name) + " = " + in_quotes(*value) + " is not supported; only " + std::string(only));
}

// Returns how many voxels each becomes, of the factors of [N][f][spatial...].
Result<Vec3> factor_of(const std::vector<double>& scales, int rank) {
  Vec3 factor = Vec3::cube(1);
  for (int i = 0; i < rank + 2; ++i) {
    const double scale = scales[static_cast<std::size_t>(i)];
    const bool whole = scale >= 1 && scale <= 4096 && scale == std::floor(scale);
    if (!whole || (i < 2 && scale != 1)) {
      return unsupported("a scale of " + std::to_string(scale) + " along axis " + std::to_string(i) +
                         " is not supported; only whole factors, and 1 for batch and channels");
    }
    if (i >= 2) factor[3 - rank + i - 2] = static_cast<std::int64_t>(scale);
  }
  return factor;
}

// Returns the axes, of [N][f][spatial...], that the node's `count` numbers are of: those that it names, or all.
Result<std::vector<std::size_t>> axes_of(const OnnxAttributes& attributes, int rank, std::size_t count) {
  const Result<std::vector<std::int64_t>> named = attributes.integers("axes");
  if (!named) return named.error();
  const std::int64_t all = rank + 2;
  std::vector<std::size_t> axes;
  for (std::int64_t i = 0; named->empty() && i < all; ++i) axes.push_back(static_cast<std::size_t>(i));
  for (const std::int64_t axis : *named) {
    if (axis < -all || axis >= all) {
      return corrupt("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(all) + " axes");
    }
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + all : axis));
  }
  const std::set<std::size_t> each(axes.begin(), axes.end());
  if (each.size() != axes.size()) return corrupt("names an axis twice");
  if (axes.size() == count) return axes;
  return corrupt("has " + std::to_string(count) + " scales or sizes; " + std::to_string(axes.size()) + " are right");
}

Result<std::vector<double>> constant_scales(const OnnxNode& node, const OnnxBuilder& builder, int input) {
  const onnx::TensorProto* tensor = builder.constant(node.proto, input);
  if (tensor == nullptr) return unsupported("its scales are computed; only constants are supported");
  const Result<std::vector<float>> values = builder.floats_of(*tensor);
  if (!values) return values.error();
  const Result<std::vector<std::size_t>> axes = axes_of(node.attributes, builder.rank(), values->size());
  if (!axes) return axes.error();
  std::vector<double> scales(static_cast<std::size_t>(builder.rank()) + 2, 1.0);
  for (std::size_t i = 0; i < axes->size(); ++i) scales[(*axes)[i]] = static_cast<double>((*values)[i]);
  return scales;
}

// Fails if the size changes the batch or the channels. Files whose batch is open say 1, or what Shape says.
Result<void> check_other(const VolumeNumber& size, std::size_t axis, const OnnxBuilder& builder, int value) {
  const std::array<std::int64_t, 2> all = {builder.batch(), builder.channels(value)};
  const std::int64_t own = all[axis];
  if (own == unknown_channels || size == VolumeNumber{own, {}}) return {};
  return unsupported("makes " + to_string(size) + " of " + std::to_string(own) + " along axis " + std::to_string(axis) +
                     "; only spatial axes can be resized");
}

// What becomes of the voxels: an axis that grows by one gets its first voxel again, in front.
struct Resizing {
  std::vector<double> scales;  // of [N][f][spatial...]
  Border edges;
};

// Notes what becomes of an axis that gets this size.
Result<void> add_size(const VolumeNumber& size, std::size_t axis, const OnnxBuilder& builder, int value,
                      Resizing& resizing) {
  if (axis < 2) return check_other(size, axis, builder, value);
  if (builder.is_guessed(value)) return {};
  const int spatial = static_cast<int>(axis) + 1 - builder.rank();
  const std::optional<VolumeNumber> n = extent_along(builder.extents(value), spatial);
  if (!n) return unsupported("its sizes are constants, but the file leaves the input's extents open");
  const std::optional<double> scale = ratio(size, *n);
  const bool is_whole = scale && *scale == std::floor(*scale);
  if (!is_whole && difference(size, *n) == VolumeNumber{1, {}}) {
    resizing.edges.begin[spatial] = 1;
    return {};
  }
  if (!scale) {
    return unsupported("its sizes are no multiple of the extent along axis " + std::to_string(axis) +
                       " that is the same for all volumes");
  }
  resizing.scales[axis] = *scale;
  return {};
}

// Returns sizes over the extents that the file declares, or that are known for all volumes.
Result<Resizing> resizing_to_sizes(const OnnxNode& node, const OnnxBuilder& builder, int value) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, sizes_of_resize);
  if (!tensor) return unsupported("its sizes are computed; export it with a constant scale_factor");
  const Result<std::vector<VolumeNumber>> sizes = numbers_of(*tensor);
  if (!sizes) return sizes.error();
  const Result<std::vector<std::size_t>> axes = axes_of(node.attributes, builder.rank(), sizes->size());
  if (!axes) return axes.error();
  Resizing resizing{std::vector<double>(static_cast<std::size_t>(builder.rank()) + 2, 1.0), {}};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const Result<void> added = add_size((*sizes)[i], (*axes)[i], builder, value, resizing);
    if (!added) return added.error();
  }
  return resizing;
}

// Fails unless voxel v of n + 1 is voxel floor(v n / (n + 1)) of n: the first one again, then all of them.
Result<void> check_grown(const OnnxAttributes& attributes) {
  const Result<std::string> mode = attributes.text("mode", "nearest");
  const Result<std::string> coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  const Result<std::string> rounding = attributes.text("nearest_mode", "round_prefer_floor");
  const bool repeats = mode && coordinates && rounding && *mode == "nearest" && *coordinates == "asymmetric";
  if (repeats && *rounding == "floor") return {};
  return unsupported("grows by one voxel, which only nearest neighbours at asymmetric coordinates with floor may");
}

Result<Resizing> constant_resizing(const OnnxNode& node, const OnnxBuilder& builder) {
  Result<std::vector<double>> scales = constant_scales(node, builder, scales_of_resize);
  if (!scales) return scales.error();
  return Resizing{*std::move(scales), {}};
}

// Each voxel of the output takes floor(v / factor), whatever the rounding, in the forms that exporters write.
Result<void> check_nearest(const OnnxAttributes& attributes, Vec3 factor) {
  const Result<std::string> coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  if (!coordinates) return coordinates.error();
  const Result<std::string> rounding = attributes.text("nearest_mode", "round_prefer_floor");
  if (!rounding) return rounding.error();
  const bool half = *coordinates == "half_pixel" || *coordinates == "pytorch_half_pixel";
  const bool rounds = *rounding == "round_prefer_floor";
  const bool small = covers(Vec3::cube(2), factor);
  const bool asymmetric = *coordinates == "asymmetric";
  const bool floors = *rounding == "floor" && (asymmetric || *coordinates == "tf_half_pixel_for_nn");
  if ((half && rounds) || floors || (asymmetric && rounds && small)) return {};
  return unsupported(
      "coordinate_transformation_mode = " + in_quotes(*coordinates) + " with nearest_mode = " + in_quotes(*rounding) +
      " is not supported; only asymmetric or tf_half_pixel_for_nn with floor, half_pixel with " + "round_prefer_floor");
}

bool is_asymmetric(const OnnxAttributes& attributes) {
  const Result<std::string> mode = attributes.text("mode", "nearest");
  const Result<std::string> coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  return mode && coordinates && *mode == "linear" && *coordinates == "asymmetric";
}

Result<UpsampleKind> linear_kind_of(const OnnxAttributes& attributes) {
  const Result<std::string> coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  if (!coordinates) return coordinates.error();
  if (*coordinates == "half_pixel" || *coordinates == "pytorch_half_pixel") return UpsampleKind::linear;
  if (*coordinates == "align_corners") return UpsampleKind::aligned;
  if (*coordinates == "asymmetric") return UpsampleKind::shuffle;  // of shares
  return unsupported("coordinate_transformation_mode = " + in_quotes(*coordinates) +
                     " with mode = 'linear' is not supported; only half_pixel, asymmetric and align_corners");
}

Result<UpsampleKind> kind_of(const OnnxAttributes& attributes, Vec3 factor) {
  const Result<std::string> mode = attributes.text("mode", "nearest");
  if (!mode) return mode.error();
  if (*mode != "nearest" && *mode != "linear") {
    return unsupported("mode = " + in_quotes(*mode) + " is not supported; only nearest, linear");
  }
  if (*mode == "linear") return linear_kind_of(attributes);
  if (const Result<void> sound = check_nearest(attributes, factor); !sound) return sound.error();
  return UpsampleKind::nearest;
}

// Appends what lies between each voxel and the next along an axis: `share` of the next, the rest of its own.
int append_shares(const OnnxNode& node, OnnxBuilder& builder, int value, int axis, double share) {
  const std::int64_t f = builder.channels(value);
  Convolution conv{f, Vec3::cube(1), Vec3::cube(1), {}};
  conv.k[axis] = 2;
  conv.groups = f;
  NodeWeights weights;
  for (std::int64_t i = 0; i < f; ++i) {
    weights.kernels.push_back(static_cast<float>(1.0 - share));
    weights.kernels.push_back(static_cast<float>(share));
  }
  return builder.append_part(node.proto, conv, value, f, std::move(weights));
}

// Interpolates between each voxel and the next, axis by axis: voxel v of the output lies at v / factor, and beyond the
// last one is the last one again.
Result<void> append_asymmetric(const OnnxNode& node, OnnxBuilder& builder, int value, Vec3 factor) {
  const std::int64_t f = builder.channels(value);
  for (int axis = 0; axis < 3 && f != unknown_channels; ++axis) {
    if (factor[axis] == 1) continue;
    if (mul(f, factor[axis]) > max_onnx_channels) return unsupported("makes more than 2^20 channels of one voxel");
    Border edge;
    edge.end[axis] = 1;
    const int with_edge = append_edges(node, builder, value, edge);
    std::vector<int> phases = {builder.append_part(node.proto, Crop{{}, edge.end}, with_edge, f)};
    for (std::int64_t phase = 1; phase < factor[axis]; ++phase) {
      const double share = static_cast<double>(phase) / static_cast<double>(factor[axis]);
      phases.push_back(append_shares(node, builder, with_edge, axis, share));
    }
    Vec3 along = Vec3::cube(1);
    along[axis] = factor[axis];
    const int joined = builder.append_part(node.proto, Concat{}, std::move(phases), mul(f, factor[axis]));
    value = builder.append_part(node.proto, Upsample{along, UpsampleKind::shuffle}, joined, f);
  }
  builder.alias(node.proto, value);
  return {};
}

Result<void> append_upsampling(const OnnxNode& node, OnnxBuilder& builder, int value, const Upsample& up) {
  if (up.factor == Vec3::cube(1)) {
    builder.alias(node.proto, value);
    return {};
  }
  // The voxels at the border are their own neighbours.
  const Vec3 beside = (upsampling_window(up.kind, up.factor) - Vec3::cube(1)) / Vec3::cube(2);
  builder.append(node.proto, up, {value}, builder.channels(value), {}, {beside, beside});
  return {};
}

// Checks what can be checked of a node whose factors depend on guessed extents.
Result<void> guess_resized(const OnnxNode& node, OnnxBuilder& builder) {
  if (const Result<UpsampleKind> kind = kind_of(node.attributes, Vec3::cube(1)); !kind) return kind.error();
  builder.guess(node.proto);
  return {};
}

}  // namespace

Result<void> convert_resize(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.opset() < opset_of_resize) return convert_upsample(node, builder);
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (Result<void> stretched = require_text(node.attributes, "keep_aspect_ratio_policy", "stretch", "stretch");
      !stretched) {
    return stretched;
  }
  if (builder.reads_guess(node.proto)) return guess_resized(node, builder);
  const bool has_sizes = OnnxBuilder::has_input(node.proto, sizes_of_resize);
  const Result<Resizing> resizing =
      has_sizes ? resizing_to_sizes(node, builder, *value) : constant_resizing(node, builder);
  if (!resizing) return resizing.error();
  const Result<Vec3> factor = factor_of(resizing->scales, builder.rank());
  if (!factor) return factor.error();
  const Result<UpsampleKind> kind = kind_of(node.attributes, *factor);
  if (!kind) return kind.error();
  const bool grows = resizing->edges != Border{};
  if (!grows && is_asymmetric(node.attributes)) return append_asymmetric(node, builder, *value, *factor);
  if (!grows) return append_upsampling(node, builder, *value, {*factor, *kind});
  if (Result<void> grown = check_grown(node.attributes); !grown) return grown;
  return append_upsampling(node, builder, append_edges(node, builder, *value, resizing->edges), {*factor, *kind});
}

Result<void> convert_upsample(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::string> mode = node.attributes.text("mode", "nearest");
  if (!mode) return mode.error();
  if (*mode != "nearest" && *mode != "linear") {
    return unsupported("mode = " + in_quotes(*mode) + " is not supported; only nearest, linear");
  }
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (builder.guess_reader(node.proto)) return {};
  const Result<std::vector<double>> scales = constant_scales(node, builder, 1);
  if (!scales) return scales.error();
  const Result<Vec3> factor = factor_of(*scales, builder.rank());
  if (!factor) return factor.error();
  if (*mode == "linear") return append_asymmetric(node, builder, *value, *factor);
  return append_upsampling(node, builder, *value, {*factor, UpsampleKind::nearest});
}

}  // namespace znni
