// Reads certificates and token from the files that the command line names, for a daemon that authenticates its clients.
#pragma once

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

// Reads the files. Errors name the option and the file.
[[nodiscard]] Result<Credentials> read_credentials(const CredentialFiles& files);

}  // namespace znni::client
