#include "client/cli/padding.hpp"

namespace znni::client {

Result<Padding> parse_padding(const std::string& name) {
  if (name == "none") return Padding::none;
  if (name == "zero") return Padding::zero;
  if (name == "reflect") return Padding::reflect;
  return Error{ErrorCode::invalid_argument, "--padding " + name + ": use none, zero or reflect"};
}

std::string to_string(Padding padding) {
  return padding == Padding::none ? "none" : padding == Padding::zero ? "zero" : "reflect";
}

PaddedExtent pad(Padding padding, Vec3 inner, Vec3 fov) {
  if (padding == Padding::none) return {padding, inner, {0, 0, 0}, inner};
  const Vec3 border = fov - Vec3::cube(1);
  return {padding, inner, border / Vec3::cube(2), inner + border};
}

std::optional<std::int64_t> source_position(const PaddedExtent& extent, int axis, std::int64_t position) {
  const std::int64_t inner = extent.inner[axis];
  const std::int64_t at = position - extent.before[axis];
  if (at >= 0 && at < inner) return at;
  if (extent.padding != Padding::reflect) return std::nullopt;
  if (inner == 1) return 0;
  const std::int64_t period = 2 * (inner - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < inner ? phase : period - phase;
}

}  // namespace znni::client
