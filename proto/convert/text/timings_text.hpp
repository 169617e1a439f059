// Recorded timings as text (proto/timings.proto). Records are appended one by one while measuring, so that an
// interrupted run loses only the record that it was writing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/costs/machine.hpp"

namespace znni {

struct ReadTimings {
  Timings timings;
  std::optional<Machine> machine;     // the file's machine, checked
  std::vector<std::string> warnings;  // one line for each record that was cut short and left out
};

// Reads timings. A later record replaces an earlier one with the same key. A record that was cut short by a crash is a
// warning, anywhere in the file; other text that cannot be read is an error, which names the line.
[[nodiscard]] Result<ReadTimings> parse_timings(std::string_view text);

// Returns `record { ... }` and a line's end.
[[nodiscard]] std::string timing_text(const TimingRecord& record);

// Reads a file; a missing file holds no records. Warnings and errors begin with the path.
[[nodiscard]] Result<ReadTimings> read_timings(const std::string& path);
// Appends a record to the file in one write. Creates the file if it is missing.
[[nodiscard]] Result<void> append_timing(const std::string& path, const TimingRecord& record);
// Replaces the file by all records, atomically.
[[nodiscard]] Result<void> write_timings(const std::string& path, const Timings& timings);

}  // namespace znni
