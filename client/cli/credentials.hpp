// What the command line names for a daemon that asks who calls: read from files.
#pragma once

#include <string>

#include "client/cpp/connection.hpp"

namespace znni::client {

struct CredentialFiles {
  std::string authority;    // PEM of those who sign daemons' certificates; "": no TLS
  std::string certificate;  // PEM of our own, and its key; "": none
  std::string key;
  std::string token;  // one line; "": none
  bool operator==(const CredentialFiles&) const = default;
};

// Errors name the option and the file.
[[nodiscard]] Result<Credentials> read_credentials(const CredentialFiles& files);

}  // namespace znni::client
