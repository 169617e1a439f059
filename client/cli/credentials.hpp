// Reads certificates and token from the files that the command line names, for a daemon that authenticates its clients.
#pragma once

#include <ctime>
#include <string>

#include "client/cpp/connection.hpp"

namespace znni::client {

struct CredentialFiles {
  std::string authority;    // PEM of the authorities that sign daemons' certificates; "": no TLS
  std::string certificate;  // PEM of the client's own certificate, with `key`; "": none
  std::string key;
  std::string token;  // one line; "": none
  bool operator==(const CredentialFiles&) const = default;
};

// Reads the files, and checks that certificates and key are some that TLS can use at `now`. Errors name the option and
// the file.
[[nodiscard]] Result<Credentials> read_credentials(const CredentialFiles& files, std::time_t now = std::time(nullptr));

}  // namespace znni::client
