// Recorded timings as text (proto/timings.proto): appended one by one while measuring, so that an interrupted
// run has lost nothing but the record it was writing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/costs/machine.hpp"

namespace znni {

struct ReadTimings {
  Timings timings;
  std::optional<Machine> machine;     // that the file tells of; sound
  std::vector<std::string> warnings;  // one line each: records that were cut short and are left out
};

// A later record of the same key replaces the earlier. A record cut short by a crash is a warning, wherever it
// stands; anything else that cannot be read is an error that names the line.
[[nodiscard]] Result<ReadTimings> parse_timings(std::string_view text);

// `record { ... }` and a line's end.
[[nodiscard]] std::string timing_text(const TimingRecord& record);

// A file that is not there holds no records. Warnings and errors begin with the path.
[[nodiscard]] Result<ReadTimings> read_timings(const std::string& path);
// At the end of the file, in one write; creates it where it is missing.
[[nodiscard]] Result<void> append_timing(const std::string& path, const TimingRecord& record);
// All records, atomically.
[[nodiscard]] Result<void> write_timings(const std::string& path, const Timings& timings);

}  // namespace znni
