// Says what is wrong with certificates and keys before TLS uses them. TLS itself fails without a reason, for a wrong
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

// Says how a certificate stands to a time, in words that follow its name. At most one of the two is not "".
struct Validity {
  std::string fault;   // "expired on 2026-09-20 14:13:20 UTC", "is not valid before ..."
  std::string notice;  // "expires on ...", if it will in less than days_of_warning days
};

// Checks that `certificate` begins with a certificate and that `key` is its private key, without a passphrase. Returns
// the validity at `now` of each certificate in the file. Errors name the file.
[[nodiscard]] Result<std::vector<Validity>> check_pair(const PemFile& certificate, const PemFile& key, std::time_t now);
// Checks certificates of authorities in the same way; there must be at least one.
[[nodiscard]] Result<std::vector<Validity>> check_authorities(const PemFile& authorities, std::time_t now);

}  // namespace znni
