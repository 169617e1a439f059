#include "proto/convert/onnx/operators/onnx_resize.hpp"

#include <array>
#include <cmath>
#include <optional>
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
  if (static_cast<int>(scales.size()) != rank + 2) {
    return corrupt("has " + std::to_string(scales.size()) + " scales; " + std::to_string(rank + 2) + " are right");
  }
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

Result<std::vector<double>> constant_scales(const OnnxNode& node, const OnnxBuilder& builder, int input) {
  const onnx::TensorProto* tensor = builder.constant(node.proto, input);
  if (tensor == nullptr) return unsupported("its scales are computed; only constants are supported");
  const Result<std::vector<float>> values = builder.floats_of(*tensor);
  if (!values) return values.error();
  return std::vector<double>(values->begin(), values->end());
}

// Fails if the sizes change the batch or the channels. Files whose batch is open say 1, or what Shape says.
Result<void> check_others(const std::vector<VolumeNumber>& sizes, const OnnxBuilder& builder, int value) {
  const std::array<std::int64_t, 2> own = {builder.batch(), builder.images(value)};
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (own[axis] == unknown_images || sizes[axis] == VolumeNumber{own[axis], {}}) continue;
    return unsupported("makes " + to_string(sizes[axis]) + " of " + std::to_string(own[axis]) + " along axis " +
                       std::to_string(axis) + "; only spatial axes can be resized");
  }
  return {};
}

// What becomes of the voxels: an axis that grows by one gets its first voxel again, in front.
struct Resizing {
  std::vector<double> scales;  // of [N][f][spatial...]
  Border edges;
};

// Returns sizes over the extents that the file declares, or that are known for all volumes.
Result<Resizing> resizing_to_sizes(const OnnxNode& node, const OnnxBuilder& builder, int value) {
  const std::optional<KnownTensor> tensor = builder.known_at(node.proto, sizes_of_resize);
  if (!tensor) return unsupported("its sizes are computed; export it with a constant scale_factor");
  const Result<std::vector<VolumeNumber>> sizes = numbers_of(*tensor);
  if (!sizes) return sizes.error();
  if (static_cast<int>(sizes->size()) != builder.rank() + 2) {
    return corrupt("has " + std::to_string(sizes->size()) + " sizes; " + std::to_string(builder.rank() + 2) +
                   " are right");
  }
  if (Result<void> same = check_others(*sizes, builder, value); !same) return same.error();
  Resizing resizing{std::vector<double>(sizes->size(), 1.0), {}};
  for (int i = 0; i < builder.rank(); ++i) {
    if (builder.is_guessed(value)) continue;
    const std::optional<VolumeNumber> n = extent_along(builder.extents(value), 3 - builder.rank() + i);
    if (!n) return unsupported("its sizes are constants, but the file leaves the input's extents open");
    const VolumeNumber& size = (*sizes)[static_cast<std::size_t>(i) + 2];
    const std::optional<double> scale = ratio(size, *n);
    const bool is_whole = scale && *scale == std::floor(*scale);
    if (!is_whole && difference(size, *n) == VolumeNumber{1, {}}) {
      resizing.edges.begin[3 - builder.rank() + i] = 1;
      continue;
    }
    if (!scale) {
      return unsupported("its sizes are no multiple of the extent along axis " + std::to_string(i + 2) +
                         " that is the same for all volumes");
    }
    resizing.scales[static_cast<std::size_t>(i) + 2] = *scale;
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

Result<UpsampleKind> linear_kind_of(const OnnxAttributes& attributes) {
  const Result<std::string> coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  if (!coordinates) return coordinates.error();
  if (*coordinates == "half_pixel" || *coordinates == "pytorch_half_pixel") return UpsampleKind::linear;
  if (*coordinates == "align_corners") return UpsampleKind::aligned;
  return unsupported("coordinate_transformation_mode = " + in_quotes(*coordinates) +
                     " with mode = 'linear' is not supported; only half_pixel and align_corners");
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

Result<void> append_upsampling(const OnnxNode& node, OnnxBuilder& builder, int value, const Upsample& up) {
  if (up.factor == Vec3::cube(1)) {
    builder.alias(node.proto, value);
    return {};
  }
  // The voxels at the border are their own neighbours.
  const Vec3 beside = (upsampling_window(up.kind, up.factor) - Vec3::cube(1)) / Vec3::cube(2);
  builder.append(node.proto, up, {value}, builder.images(value), {}, {beside, beside});
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
  if (node.attributes.find("axes") != nullptr) return unsupported("attribute axes is not supported");
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
  if (resizing->edges == Border{}) return append_upsampling(node, builder, *value, {*factor, *kind});
  if (Result<void> grown = check_grown(node.attributes); !grown) return grown;
  return append_upsampling(node, builder, append_edges(node, builder, *value, resizing->edges), {*factor, *kind});
}

Result<void> convert_upsample(const OnnxNode& node, OnnxBuilder& builder) {
  if (Result<void> mode = require_text(node.attributes, "mode", "nearest", "nearest"); !mode) return mode;
  const Result<int> value = builder.value(node.proto, 0);
  if (!value) return value.error();
  if (builder.guess_reader(node.proto)) return {};
  const Result<std::vector<double>> scales = constant_scales(node, builder, 1);
  if (!scales) return scales.error();
  const Result<Vec3> factor = factor_of(*scales, builder.rank());
  if (!factor) return factor.error();
  return append_upsampling(node, builder, *value, {*factor, UpsampleKind::nearest});
}

}  // namespace znni
