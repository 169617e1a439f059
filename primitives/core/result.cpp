#include "primitives/core/result.hpp"

#include <array>

namespace znni {

std::string_view to_string(ErrorCode code) {
  static constexpr std::array<std::string_view, 11> names = {
      "invalid_argument", "not_found",   "unsupported",       "over_budget", "device_failure", "device_lost",
      "corrupt_file",     "unavailable", "deadline_exceeded", "cancelled",   "internal"};
  return names[static_cast<std::size_t>(code)];
}

void ensure_failed(std::string_view what, std::source_location where) {
  std::fprintf(stderr, "znni: broken invariant: %.*s (%s:%u)\n", static_cast<int>(what.size()), what.data(),
               where.file_name(), where.line());
  std::abort();
}

}  // namespace znni
