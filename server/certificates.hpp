// Says what is wrong with certificates and keys before TLS uses them: TLS itself fails without a reason, for a wrong
// key as for a port in use.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

// The text of a PEM file and how errors call it.
struct PemFile {
  std::string name;
  std::string text;
};

inline constexpr int days_of_warning = 30;

// Checks that `certificate` begins with a certificate and that `key` is its private key, without a passphrase; errors
// name the file. Returns warnings of certificates that are not valid yet, that have expired or will in less than
// days_of_warning days after `now`.
[[nodiscard]] Result<std::vector<std::string>> check_pair(const PemFile& certificate, const PemFile& key,
                                                          std::time_t now);
// Checks certificates of authorities in the same way; there must be at least one.
[[nodiscard]] Result<std::vector<std::string>> check_authorities(const PemFile& authorities, std::time_t now);

}  // namespace znni
