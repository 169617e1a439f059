#include "client/cli/padding.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace znni::client {
namespace {

// In the order of Padding.
constexpr std::array<std::string_view, 4> names = {"none", "zero", "reflect", "edge"};

}  // namespace

Result<Padding> parse_padding(const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Padding>(found - names.begin());
  return Error{ErrorCode::invalid_argument, "--padding " + name + ": use none, zero, reflect or edge"};
}

std::string to_string(Padding padding) { return std::string(names[static_cast<std::size_t>(padding)]); }

PaddedExtent pad(Padding padding, Vec3 inner, const Box& box, Vec3 fov) {
  const Vec3 border = padding == Padding::none ? Vec3::cube(0) : fov - Vec3::cube(1);
  return {padding, inner, border / Vec3::cube(2) - box.start, box.extent() + border};
}

std::optional<std::int64_t> source_position(const PaddedExtent& extent, int axis, std::int64_t position) {
  const std::int64_t inner = extent.inner[axis];
  const std::int64_t at = position - extent.origin[axis];
  if (at >= 0 && at < inner) return at;
  if (extent.padding == Padding::edge) return at < 0 ? 0 : inner - 1;
  if (extent.padding != Padding::reflect) return std::nullopt;
  if (inner == 1) return 0;
  const std::int64_t period = 2 * (inner - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < inner ? phase : period - phase;
}

Box read_box(const PaddedExtent& extent) {
  Box box{extent.inner, {0, 0, 0}};
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t position = 0; position < extent.outer[axis]; ++position) {
      const auto at = source_position(extent, axis, position);
      if (!at) continue;
      box.start[axis] = std::min(box.start[axis], *at);
      box.stop[axis] = std::max(box.stop[axis], *at + 1);
    }
  }
  return box;
}

}  // namespace znni::client
