// Networks without weights.
#include <string_view>

#include "proto/convert/network_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(znni::parse_network({reinterpret_cast<const char*>(data), size}));
  return 0;
}
