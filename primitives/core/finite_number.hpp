// Checks numbers from a command line before they are used.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

namespace znni {

// Returns an error text if `text` is NaN or infinite, because comparisons with a range do not reject NaN. Returns ""
// otherwise, also for text that is not a number: other checks reject that.
[[nodiscard]] inline std::string refuse_endless(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0';
  return is_number && !std::isfinite(value) ? "'" + text + "' is not a finite number" : "";
}

}  // namespace znni
