// Certificates and keys, made when they are needed.
#pragma once

#include <ctime>
#include <string>

namespace znni::test {

struct MadeCertificate {
  std::string certificate;  // PEM, signed by itself
  std::string key;          // PEM
};

// Makes a certificate that is valid from `begin` to `end`.
[[nodiscard]] MadeCertificate make_certificate(std::time_t begin, std::time_t end);

}  // namespace znni::test
