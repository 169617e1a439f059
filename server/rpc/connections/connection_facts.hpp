// Counts that a server gives of its connections.
#pragma once

#include <cstdint>

namespace znni::rpc {

struct ConnectionFacts {
  std::int64_t open = 0;
  std::int64_t most = 0;
  // Refused since the start, by what was used up.
  std::int64_t refused_by_server = 0;       // connections in all
  std::int64_t refused_by_client = 0;       // those of the client's address
  std::int64_t refused_by_resets = 0;       // the client is shut out: it begins calls and does not see them through
  std::int64_t refused_by_descriptors = 0;  // descriptors of the process or the machine
  std::int64_t cut = 0;                     // connections that were broken for such calls
};

}  // namespace znni::rpc
