#include "server/rpc/connections/read_blocks.hpp"

#include <cstdlib>
#include <string>

namespace znni::rpc {
namespace {

constexpr const char* variable = "GRPC_EXPERIMENTS";

}  // namespace

// Lets gRPC read in blocks; it obeys what the variable names last.
void read_in_blocks() {
  const char* const before = std::getenv(variable);
  const std::string others = before == nullptr || *before == '\0' ? "" : std::string(before) + ",";
  setenv(variable, (others + "-tcp_read_chunks").c_str(), 1);
}

}  // namespace znni::rpc
