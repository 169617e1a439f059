#include "proto/convert/onnx_pads.hpp"

#include "proto/convert/errors.hpp"

namespace znni {
namespace {

// Voxels so that the output has the input's extent, at a stride of 1; the odd one at the end (`upper`) or the begin.
Border same_pads(Vec3 window, bool upper) {
  const Vec3 both = window - Vec3::cube(1);
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

Result<Border> pads_of(const OnnxAttributes& attributes, Vec3 window, Vec3 stride, int rank) {
  const Result<std::string> mode = attributes.text("auto_pad", "NOTSET");
  if (!mode) return mode.error();
  if (*mode == "VALID") return Border{};
  if (*mode == "SAME_UPPER" || *mode == "SAME_LOWER") {
    if (stride == Vec3::cube(1)) return same_pads(window, *mode == "SAME_UPPER");
    return unsupported("auto_pad = " + in_quotes(*mode) + " at a stride of " + to_string(stride) +
                       " is not supported: export it with explicit pads");
  }
  if (*mode == "NOTSET") return explicit_pads(attributes, rank);
  return corrupt("auto_pad = " + in_quotes(*mode) + " is unknown; NOTSET, SAME_UPPER, SAME_LOWER and VALID are known");
}

}  // namespace znni
