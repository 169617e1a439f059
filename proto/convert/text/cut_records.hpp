// Repairs files of appended `record { ... }` after a crash, which may cut short the record being written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace znni {

struct WithoutCutRecords {
  std::string text;        // the same lines, with blanks in place of cut records
  std::vector<int> lines;  // first line of each cut record, from 1
};

// Blanks out cut records. A record begins with "record {" at the start of a line. It is cut if its braces or quotes are
// still open when the next one begins or the text ends. It is cut, too, if "record {" itself is incomplete.
[[nodiscard]] WithoutCutRecords without_cut_records(std::string_view text);

}  // namespace znni
