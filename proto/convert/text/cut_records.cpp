#include "proto/convert/text/cut_records.hpp"

#include <algorithm>

#include "proto/convert/base/text_scan.hpp"

namespace znni {
namespace {

constexpr std::string_view beginning = "record {";

// Returns the start of the next line after `from` that begins a record; the end of the text if there is none.
std::size_t next_record(std::string_view text, std::size_t from) {
  for (std::size_t line = text.find('\n', from); line != std::string_view::npos; line = text.find('\n', line + 1)) {
    if (text.substr(line + 1).starts_with(beginning)) return line + 1;
  }
  return text.size();
}

// Returns the position in `part`, a record with the text after it, at which something incomplete begins; the size of
// `part` if nothing is incomplete.
std::size_t cut_begins(std::string_view part) {
  TextScan scan;
  int depth = 0;
  std::size_t complete = 0;  // one past the last brace after which none is open
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!scan.take(part[i])) continue;
    if (part[i] == '{') ++depth;
    if (part[i] == '}' && --depth == 0) complete = i + 1;
  }
  if (depth != 0 || scan.is_in_quotes()) return complete;
  const std::size_t rest = part.find_first_not_of(" \n", complete);
  if (rest == std::string_view::npos) return part.size();
  const std::string_view last = part.substr(rest, part.find_last_not_of(" \n") + 1 - rest);
  return beginning.starts_with(last) ? rest : part.size();
}

}  // namespace

WithoutCutRecords without_cut_records(std::string_view text) {
  WithoutCutRecords result{std::string(text), {}};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = next_record(text, begin);
    const std::size_t cut = begin + cut_begins(text.substr(begin, end - begin));
    if (cut < end) {
      const std::size_t first = std::min(text.find_first_not_of(" \n", cut), end);
      result.lines.push_back(1 +
                             static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(first), '\n')));
      std::replace_if(
          result.text.begin() + static_cast<long>(cut), result.text.begin() + static_cast<long>(end),
          [](char c) { return c != '\n'; }, ' ');
    }
    begin = end;
  }
  return result;
}

}  // namespace znni
