// Files of appended `record { ... }` after a crash: the record that was being written may be cut short.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace znni {

struct WithoutCutRecords {
  std::string text;        // the same lines; where a cut record stood, blanks
  std::vector<int> lines;  // where each began, from 1
};

// A record begins at the start of a line with "record {". It is cut where its braces or quotes are still open
// when the next begins or the text ends, or where not even "record {" is complete.
[[nodiscard]] WithoutCutRecords without_cut_records(std::string_view text);

}  // namespace znni
