#include "planner/base/sizes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace znni {
namespace {

Error bad(std::string_view what, std::string_view text, std::string_view right) {
  return {ErrorCode::invalid_argument,
          std::string(what) + " '" + std::string(text) + "' is not understood: write " + std::string(right)};
}

struct Quantity {
  double amount = 0;
  std::string unit;  // lower case, no blanks
};

// Returns a decimal number and the text that follows it.
std::optional<Quantity> parse_quantity(std::string_view text) {
  Quantity quantity;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.amount, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(quantity.amount)) return std::nullopt;
  for (const char c : text.substr(static_cast<std::size_t>(rest - text.data()))) {
    if (c != ' ') quantity.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return quantity;
}

// Returns 1024^i for the i-th of "kmgtp"; nothing for an unknown unit.
std::optional<double> byte_factor(std::string unit) {
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  if (unit.size() > 1 && unit.ends_with("b")) unit.pop_back();
  if (unit.empty() || unit == "b") return 1.0;
  constexpr std::string_view letters = "kmgtp";
  const std::size_t power = letters.find(unit.front());
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  return std::pow(1024.0, static_cast<double>(power + 1));
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view right = "a number and a unit, such as 256G, 1.5TiB or 1048576";
  const std::optional<Quantity> quantity = parse_quantity(text);
  if (!quantity) return bad("size", text, right);
  const std::optional<double> factor = byte_factor(quantity->unit);
  if (!factor) return bad("size", text, right);
  const double bytes = quantity->amount * *factor;
  if (bytes < 1 || bytes >= 9.2e18) return bad("size", text, "at least one byte and at most 8191P");
  return static_cast<std::int64_t>(bytes);
}

Result<MemoryRange> parse_byte_range(std::string_view text) {
  constexpr std::string_view dots = "..";
  constexpr std::string_view right = "two sizes, the smaller first, such as 1G..256G";
  const std::size_t at = text.find(dots);
  if (at == std::string_view::npos) return bad("range", text, right);
  const Result<std::int64_t> from = parse_bytes(text.substr(0, at));
  if (!from) return from.error();
  const Result<std::int64_t> to = parse_bytes(text.substr(at + dots.size()));
  if (!to) return to.error();
  if (*from > *to) {
    return Error{ErrorCode::invalid_argument,
                 "range '" + std::string(text) + "' is empty: write " + std::string(right)};
  }
  return MemoryRange{*from, *to};
}

Result<Seconds> parse_duration(std::string_view text) {
  constexpr std::string_view right = "a number above zero and s, m or h, such as 90s or 10m";
  const std::optional<Quantity> quantity = parse_quantity(text);
  if (!quantity || quantity->amount <= 0) return bad("time", text, right);
  if (quantity->unit.empty() || quantity->unit == "s") return quantity->amount;
  if (quantity->unit == "m") return 60 * quantity->amount;
  if (quantity->unit == "h") return 3600 * quantity->amount;
  return bad("time", text, right);
}

Result<Vec3> parse_extents(std::string_view text) {
  Vec3 extents;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int axis = 0; axis < 3; ++axis) {
    const auto [rest, error] = std::from_chars(at, end, extents[axis]);
    const bool separated = axis == 2 ? rest == end : rest != end && (*rest == ',' || *rest == 'x');
    if (error != std::errc() || extents[axis] < 1 || !separated) {
      return bad("extent", text, "three numbers Z,Y,X of at least 1, such as 128,512,512");
    }
    at = rest + (axis == 2 ? 0 : 1);
  }
  return extents;
}

}  // namespace znni
