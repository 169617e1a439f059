// Model configurations.
#include <string_view>

#include "proto/convert/text/model_config.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(znni::parse_model_config({reinterpret_cast<const char*>(data), size}));
  return 0;
}
