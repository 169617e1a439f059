// Recorded timings.
#include <string_view>

#include "proto/convert/timings_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(znni::parse_timings({reinterpret_cast<const char*>(data), size}));
  return 0;
}
