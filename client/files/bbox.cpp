#include "client/files/bbox.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace znni::client {
namespace {

Error wrong(const std::string& text, const std::string& why) {
  return {ErrorCode::invalid_argument, "--bbox " + text + ": " + why + "; use z0:z1,y0:y1,x0:x1"};
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> parse_bound(std::string_view text, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<Box> parse_bbox(const std::string& text, Vec3 volume) {
  if (text.empty()) return Box{{0, 0, 0}, volume};
  const std::vector<std::string_view> axes = split(text, ',');
  if (axes.size() != 3) return wrong(text, std::to_string(axes.size()) + " ranges instead of 3");
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<std::string_view> bounds = split(axes[static_cast<std::size_t>(axis)], ':');
    if (bounds.size() != 2) return wrong(text, "a range needs one ':'");
    const auto start = parse_bound(bounds[0], 0);
    const auto stop = parse_bound(bounds[1], volume[axis]);
    if (!start || !stop) return wrong(text, "a bound is not a whole number");
    if (*start < 0 || *stop > volume[axis] || *start >= *stop) {
      return wrong(text, std::to_string(*start) + ":" + std::to_string(*stop) +
                             " is not inside 0:" + std::to_string(volume[axis]));
    }
    box.start[axis] = *start;
    box.stop[axis] = *stop;
  }
  return box;
}

std::string to_string(const Box& box) {
  std::string text;
  for (int axis = 0; axis < 3; ++axis) {
    text += (axis == 0 ? "" : ",") + std::to_string(box.start[axis]) + ":" + std::to_string(box.stop[axis]);
  }
  return text;
}

}  // namespace znni::client
