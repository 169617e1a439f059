#include "client/cli/credentials.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "proto/tls/certificates.hpp"

namespace znni::client {
namespace {

// Returns the text of a file; "" if no file is named.
Result<std::string> read(const std::string& option, const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.fail() && !text.empty()) return text;
  return Error{ErrorCode::not_found, option + " " + path + ": it cannot be read or is empty"};
}

Error not_valid(const PemFile& file, const std::vector<Validity>& validities) {
  const std::string which = validities.size() == 1 ? "the certificate " : "the first certificate ";
  return {ErrorCode::corrupt_file, file.name + ": " + which + validities.front().fault + "; one valid now is right"};
}

// Fails if no certificate is valid: of a collection old ones are left over.
Result<void> check_authority(const PemFile& file, std::time_t now) {
  const Result<std::vector<Validity>> all = check_authorities(file, now);
  if (!all) return all.error();
  if (std::any_of(all->begin(), all->end(), [](const Validity& one) { return one.fault.empty(); })) return {};
  return not_valid(file, *all);
}

// Fails if the first certificate, which is the client's own, is not valid: daemons may do without those behind it.
Result<void> check_own(const PemFile& certificate, const PemFile& key, std::time_t now) {
  const Result<std::vector<Validity>> chain = check_pair(certificate, key, now);
  if (!chain) return chain.error();
  if (chain->front().fault.empty()) return {};
  return not_valid(certificate, *chain);
}

Result<void> check(const CredentialFiles& files, const Credentials& credentials, std::time_t now) {
  if (files.authority.empty()) return {};
  const Result<void> authority = check_authority({"--tls-root-cert " + files.authority, credentials.authority}, now);
  if (!authority || files.certificate.empty()) return authority;
  return check_own({"--tls-cert " + files.certificate, credentials.certificate},
                   {"--tls-key " + files.key, credentials.key}, now);
}

}  // namespace

Result<Credentials> read_credentials(const CredentialFiles& files, std::time_t now) {
  Result<std::string> authority = read("--tls-root-cert", files.authority);
  if (!authority) return authority.error();
  Result<std::string> certificate = read("--tls-cert", files.certificate);
  if (!certificate) return certificate.error();
  Result<std::string> key = read("--tls-key", files.key);
  if (!key) return key.error();
  Result<std::string> token = read("--token-file", files.token);
  if (!token) return token.error();
  token->erase(token->find_last_not_of("\r\n") + 1);
  Credentials credentials{std::move(*authority), std::move(*certificate), std::move(*key), std::move(*token)};
  const Result<void> usable = check(files, credentials, now);
  if (!usable) return usable.error();
  return credentials;
}

}  // namespace znni::client
