#include "server/security.hpp"

#include <algorithm>
#include <ctime>
#include <string>

#include "proto/convert/base/read_file.hpp"
#include "server/certificate_warnings.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_bytes = 1 << 20;

Result<PemFile> read_pem(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path.string(), max_bytes);
  if (!text) return text.error();
  if (text->find("-----BEGIN ") != std::string::npos) return PemFile{path.string(), *std::move(text)};
  return Error{ErrorCode::corrupt_file, path.string() + ": found no '-----BEGIN', expected PEM"};
}

// Reads a token; "" if no file is given.
Result<std::string> read_token(const std::filesystem::path& path) {
  if (path.empty()) return std::string();
  Result<std::string> text = read_file(path.string(), max_bytes);
  if (!text) return text;
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  const bool plain = std::all_of(text->begin(), text->end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (plain && text->size() >= min_token_bytes) return text;
  return Error{ErrorCode::corrupt_file, path.string() + ": found " + std::to_string(text->size()) +
                                            " bytes, expected a token in one line of at least " +
                                            std::to_string(min_token_bytes) + " characters without blanks"};
}

}  // namespace

Result<Security> read_security(const Options& options) {
  Security security;
  Result<std::string> infer = read_token(options.infer_token_file);
  if (!infer) return infer.error();
  Result<std::string> manage = read_token(options.manage_token_file);
  if (!manage) return manage.error();
  security.tokens = {std::move(*infer), std::move(*manage)};
  if (!options.use_ssl && !options.use_ssl_mutual) return security;
  rpc::Certificates certificates;
  const std::time_t now = std::time(nullptr);
  Result<PemFile> certificate = read_pem(options.server_cert);
  if (!certificate) return certificate.error();
  Result<PemFile> key = read_pem(options.server_key);
  if (!key) return key.error();
  const Result<std::vector<Validity>> validities = check_pair(*certificate, *key, now);
  if (!validities) return validities.error();
  security.warnings = certificate_warnings(*certificate, *validities, "clients refuse it");
  certificates.certificate = std::move(certificate->text);
  certificates.key = std::move(key->text);
  if (options.use_ssl_mutual) {
    Result<PemFile> authority = read_pem(options.root_cert);
    if (!authority) return authority.error();
    const Result<std::vector<Validity>> theirs = check_authorities(*authority, now);
    if (!theirs) return theirs.error();
    const std::vector<std::string> more =
        certificate_warnings(*authority, *theirs, "clients with certificates of it are refused");
    security.warnings.insert(security.warnings.end(), more.begin(), more.end());
    certificates.client_authority = std::move(authority->text);
  }
  security.certificates = std::move(certificates);
  return security;
}

}  // namespace znni
