// Numbers of a command line, before they are used.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

namespace znni {

// Returns what is wrong with `text` where it reads as a number that is none or that has no end: those pass every
// comparison with a range. "" otherwise, words included: others refuse them.
[[nodiscard]] inline std::string refuse_endless(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0';
  return is_number && !std::isfinite(value) ? "'" + text + "' is no finite number" : "";
}

}  // namespace znni
