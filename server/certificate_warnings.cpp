#include "server/certificate_warnings.hpp"

namespace znni {

std::vector<std::string> certificate_warnings(const PemFile& file, const std::vector<Validity>& validities,
                                              const std::string& consequence) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < validities.size(); ++i) {
    const auto& [fault, notice] = validities[i];
    if (fault.empty() && notice.empty()) continue;
    const std::string which = validities.size() == 1 ? "the certificate" : "certificate " + std::to_string(i + 1);
    const std::string words = fault.empty() ? notice + ": renew it and restart" : fault + ": " + consequence;
    warnings.push_back(file.name + ": " + which + " " + words);
  }
  return warnings;
}

}  // namespace znni
