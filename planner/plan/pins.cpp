#include "planner/plan/pins.hpp"

#include <algorithm>
#include <charconv>

#include "planner/base/sizes.hpp"
#include "planner/geometry/cube.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

constexpr std::string_view groups_prefix = "mpf:";
constexpr std::string_view recompute_suffix = ":recompute";
constexpr std::string_view old_recompute_suffix = ":anew";  // up to 0.2.0

Error wrong(std::string_view text, const std::string& right) {
  return {ErrorCode::invalid_argument, "'" + std::string(text) + "': write " + right};
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the suffix away from the word; false if it does not end with it.
bool take_suffix(std::string_view& word, std::string_view suffix) {
  if (!word.ends_with(suffix)) return false;
  word.remove_suffix(suffix.size());
  return true;
}

// Returns the mode that the word names; nothing if it names none.
std::optional<PoolingMode> parse_mode(std::string_view word) {
  if (word == "max" || word == "plain") return PoolMode::plain;
  if (word == "mpf") return PoolMode::fragments;
  if (!word.starts_with(groups_prefix)) return std::nullopt;
  word.remove_prefix(groups_prefix.size());
  const bool held = !take_suffix(word, recompute_suffix) && !take_suffix(word, old_recompute_suffix);
  const Result<Vec3> groups = parse_extents(word);
  if (!groups) return std::nullopt;
  return PoolingMode(*groups, held || *groups == Vec3::cube(1));
}

std::string with_commas(Vec3 n) { return std::to_string(n.z) + "," + std::to_string(n.y) + "," + std::to_string(n.x); }

void add_flag(const std::string& flag, std::string& flags) { flags += (flags.empty() ? "" : " ") + flag; }

}  // namespace

std::string patch_flag(Vec3 patch) {
  return "--patch " + (patch == Vec3::cube(patch.x) ? std::to_string(patch.x) : with_commas(patch));
}

std::string modes_flag(const std::vector<PoolingMode>& modes) {
  std::string words;
  for (const PoolingMode& mode : modes) {
    words += (words.empty() ? "" : ",") + (mode == PoolMode::plain ? "max" : to_string(mode));
  }
  return "--modes " + words;
}

std::string to_string(const Pins& pins) {
  std::string flags;
  if (pins.patch) add_flag(patch_flag(*pins.patch), flags);
  if (!pins.theta.empty()) add_flag("--theta " + pins.theta, flags);
  if (!pins.modes.empty()) add_flag(modes_flag(pins.modes), flags);
  if (pins.S) add_flag("--S " + std::to_string(*pins.S), flags);
  if (!pins.streams) add_flag("--no-stream", flags);
  if (!pins.groups) add_flag("--no-groups", flags);
  return flags;
}

std::string with_pins(const Pins& pins) {
  const std::string flags = to_string(pins);
  return flags.empty() ? "" : " with " + flags;
}

Result<Vec3> parse_pinned_patch(std::string_view text) {
  const std::optional<std::int64_t> edge = number(text);
  const Result<Vec3> extents = edge ? Result<Vec3>(Vec3::cube(*edge)) : parse_extents(text);
  if (extents && covers(*extents, Vec3::cube(1)) && covers(Vec3::cube(max_pinned_extent), *extents)) return *extents;
  return wrong(text, "input extents Z,Y,X or the edge N of a cube, from 1 to " + std::to_string(max_pinned_extent) +
                         ", such as 88,288,280");
}

Result<std::vector<PoolingMode>> parse_pinned_modes(std::string_view text) {
  std::vector<PoolingMode> modes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::optional<PoolingMode> mode = parse_mode(word);
    if (!mode) return wrong(word, "max, mpf, mpf:2x1x1 or mpf:2x1x1:recompute for each pooling, such as max,mpf");
    modes.push_back(*mode);
    begin = end + 1;
  }
  return modes;
}

Result<std::int64_t> parse_pinned_batch(std::string_view text) {
  const std::optional<std::int64_t> S = number(text);
  if (S && *S >= 1 && *S <= max_pinned_S) return *S;
  return wrong(text, "a number of patches from 1 to " + std::to_string(max_pinned_S) + ", such as 2");
}

std::optional<Vec3> pinned_patch(const Pins& pins, int rank) {
  if (!pins.patch || *pins.patch != Vec3::cube(pins.patch->x)) return pins.patch;
  return cube_of(pins.patch->x, rank);
}

Pins swap_axes(Pins pins, int axis) {
  if (pins.patch) pins.patch = swap_axes(*pins.patch, axis);
  for (PoolingMode& mode : pins.modes) mode.groups = swap_axes(mode.groups, axis);
  return pins;
}

Pins of_smaller_rungs(Pins pins) {
  pins.patch.reset();
  pins.S.reset();
  return pins;
}

}  // namespace znni
