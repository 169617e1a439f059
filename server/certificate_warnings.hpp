// Says which of the daemon's certificates are not valid, or will soon not be.
#pragma once

#include <string>
#include <vector>

#include "proto/tls/certificates.hpp"

namespace znni {

// Returns a warning for each certificate in `file` with a fault, which has this `consequence`, or with a notice.
[[nodiscard]] std::vector<std::string> certificate_warnings(const PemFile& file,
                                                            const std::vector<Validity>& validities,
                                                            const std::string& consequence);

}  // namespace znni
