// ONNX models: a network that can be read passes the network's own checks.
#include <string_view>

#include "proto/convert/onnx_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto loaded = znni::read_onnx_bytes({reinterpret_cast<const char*>(data), size});
  if (!loaded) return 0;
  znni::ensure(znni::check(loaded->network).has_value(), "a network that was read passes check()");
  znni::ensure(znni::check_weights(loaded->network, loaded->weights).has_value(), "so do its weights");
  return 0;
}
