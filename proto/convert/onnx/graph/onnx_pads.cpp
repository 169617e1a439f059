#include "proto/convert/onnx/graph/onnx_pads.hpp"

#include <algorithm>
#include <optional>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

// Returns the voxels at both ends of an axis together; nullopt if volumes differ in them.
std::optional<std::int64_t> same_pads_along(std::int64_t window, std::int64_t stride, const VolumeExtents& in,
                                            int axis) {
  if (stride == 1) return window - 1;
  if (in.least[axis] < 1 || in.step[axis] % stride != 0) return std::nullopt;
  const std::int64_t rest = in.least[axis] % stride;
  return std::max<std::int64_t>(0, window - (rest == 0 ? stride : rest));
}

// Returns the pads of SAME; the odd voxel is at the end (`upper`) or at the begin.
std::optional<Border> same_pads(Vec3 window, Vec3 stride, const VolumeExtents& in, int rank, bool upper) {
  Vec3 both;
  for (int axis = 3 - rank; axis < 3; ++axis) {
    const std::optional<std::int64_t> along = same_pads_along(window[axis], stride[axis], in, axis);
    if (!along) return std::nullopt;
    both[axis] = *along;
  }
  const Vec3 less = both / Vec3::cube(2);
  return upper ? Border{less, both - less} : Border{both - less, less};
}

// [begin of each axis..., end of each axis...]
Result<Border> explicit_pads(const OnnxAttributes& attributes, int rank) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const Result<std::vector<std::int64_t>> values = attributes.integers("pads");
  if (!values) return values.error();
  if (values->empty()) return Border{};
  if (values->size() != 2 * static_cast<std::size_t>(rank)) {
    return corrupt("has " + std::to_string(values->size()) + " pads; " + std::to_string(2 * rank) + " are right");
  }
  Border pads;
  for (int i = 0; i < 2 * rank; ++i) {
    const std::int64_t pad = (*values)[static_cast<std::size_t>(i)];
    if (pad < 0 || pad > most) {
      return unsupported("pads of " + std::to_string(pad) + " are not supported; only 0 to 2^20");
    }
    (i < rank ? pads.begin : pads.end)[3 - rank + i % rank] = pad;
  }
  return pads;
}

}  // namespace

Result<Border> pads_of(const OnnxAttributes& attributes, Vec3 window, Vec3 stride, int rank, const VolumeExtents& in) {
  const Result<std::string> mode = attributes.text("auto_pad", "NOTSET");
  if (!mode) return mode.error();
  if (*mode == "VALID") return Border{};
  if (*mode == "SAME_UPPER" || *mode == "SAME_LOWER") {
    if (const auto pads = same_pads(window, stride, in, rank, *mode == "SAME_UPPER")) return *pads;
    return unsupported("auto_pad = " + in_quotes(*mode) + " at a stride of " + to_string(stride) +
                       " pads volumes in different ways, or its input's extent is not known: export it with explicit "
                       "pads");
  }
  if (*mode == "NOTSET") return explicit_pads(attributes, rank);
  return corrupt("auto_pad = " + in_quotes(*mode) + " is unknown; NOTSET, SAME_UPPER, SAME_LOWER and VALID are known");
}

VolumeExtents extents_for_pads(const OnnxBuilder& builder, int value, Vec3 stride) {
  return builder.is_guessed(value) ? VolumeExtents{stride, stride} : builder.extents(value);
}

bool pads_by_extent(const onnx::NodeProto& node) {
  bool is_same = false;
  bool is_strided = false;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    is_same = is_same || (attribute.name() == "auto_pad" && attribute.s().starts_with("SAME"));
    const auto& strides = attribute.ints();
    is_strided = is_strided || (attribute.name() == "strides" &&
                                std::any_of(strides.begin(), strides.end(), [](std::int64_t n) { return n != 1; }));
  }
  return is_same && is_strided;
}

}  // namespace znni
