// Text in aligned columns, and numbers as people read them.
#pragma once

#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni {

using TextRow = std::vector<std::string>;

// Returns one line per row, two blanks between columns; columns that hold numbers alone (below the first row) are
// aligned right. Each line begins with `indent` and has no blanks at its end.
[[nodiscard]] std::string text_table(const std::vector<TextRow>& rows, const std::string& indent = "  ");

[[nodiscard]] std::string seconds_text(Seconds seconds);          // "1.23 ms", "45.6 s"
[[nodiscard]] std::string duration_text(Seconds seconds);         // "45 s", "12 min", "3.4 h"
[[nodiscard]] std::string fixed_text(double number, int digits);  // "5.24"
[[nodiscard]] std::string count_text(double count);               // "18,770"; below 10 "5.24"
[[nodiscard]] std::string rate_text(double voxels_per_second);    // "18,770 voxels/s"

}  // namespace znni
