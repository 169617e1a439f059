// The secrets that the options name, read from their files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/options.hpp"
#include "server/rpc/server.hpp"

namespace znni {

struct Security {
  rpc::Tokens tokens;
  std::optional<rpc::Certificates> certificates;  // nothing: no TLS
  std::vector<std::string> warnings;              // of certificates that expire
};

// Tokens are files of one line, of at least `min_token_bytes`. Errors name the file, of a key that is not that of its
// certificate as well, and never tell what is in it.
inline constexpr std::size_t min_token_bytes = 16;
[[nodiscard]] Result<Security> read_security(const Options& options);

}  // namespace znni
