// Networks without weights: what can be read passes the checks, and is written and read again as the same network.
#include <string_view>

#include "proto/convert/text/network_text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const znni::Result<znni::Network> network = znni::parse_network({reinterpret_cast<const char*>(data), size});
  if (!network) return 0;
  znni::ensure(znni::check(*network).has_value(), "a network that was read passes check()");
  const znni::Result<znni::Network> again = znni::parse_network(znni::network_text(*network));
  znni::ensure(again.has_value(), "a network that was written can be read");
  znni::ensure(*again == *network, "and is the same");
  return 0;
}
