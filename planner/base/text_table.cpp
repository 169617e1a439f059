#include "planner/base/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace znni {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,-+%x ") == std::string::npos;
}

bool holds_numbers(const std::vector<TextRow>& rows, std::size_t column) {
  bool any = false;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (column >= rows[i].size() || rows[i][column].empty()) continue;
    if (!is_number(rows[i][column])) return false;
    any = true;
  }
  return any;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string blanks(width - text.size(), ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

std::string text_table(const std::vector<TextRow>& rows, const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const TextRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(row[i], widths[i], holds_numbers(rows, i));
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  }
  return text;
}

std::string fixed_text(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string seconds_text(Seconds seconds) {
  if (seconds < 1e-3) return fixed_text(seconds * 1e6, 1) + " us";
  if (seconds < 1) return fixed_text(seconds * 1e3, 2) + " ms";
  return fixed_text(seconds, 2) + " s";
}

std::string duration_text(Seconds seconds) {
  constexpr Seconds minute = 60;
  constexpr Seconds hour = 3600;
  if (seconds < 2 * minute) return fixed_text(seconds, 0) + " s";
  return seconds < 2 * hour ? fixed_text(seconds / minute, 0) + " min" : fixed_text(seconds / hour, 1) + " h";
}

std::string count_text(double count) {
  const std::string digits = fixed_text(count, count < 10 ? 2 : 0);
  const std::size_t whole = std::min(digits.find('.'), digits.size());
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string rate_text(double voxels_per_second) { return count_text(voxels_per_second) + " voxels/s"; }

}  // namespace znni
