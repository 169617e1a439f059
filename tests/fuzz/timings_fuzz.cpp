// Recorded timings: every record that can be read is written and read again as the same record.
#include <string_view>
#include <vector>

#include "proto/convert/text/timings_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = znni::parse_timings({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  for (const znni::TimingRecord& record : read->timings.records()) {
    const auto again = znni::parse_timings(znni::timing_text(record));
    znni::ensure(again.has_value() && again->warnings.empty(), "a record that was written can be read");
    znni::ensure(again->timings.records() == std::vector{record}, "and is the same");
  }
  return 0;
}
