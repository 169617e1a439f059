#include "client/cli/credentials.hpp"

#include <fstream>
#include <iterator>

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

}  // namespace

Result<Credentials> read_credentials(const CredentialFiles& files) {
  Credentials credentials;
  Result<std::string> authority = read("--tls-root-cert", files.authority);
  if (!authority) return authority.error();
  Result<std::string> certificate = read("--tls-cert", files.certificate);
  if (!certificate) return certificate.error();
  Result<std::string> key = read("--tls-key", files.key);
  if (!key) return key.error();
  Result<std::string> token = read("--token-file", files.token);
  if (!token) return token.error();
  token->erase(token->find_last_not_of("\r\n") + 1);
  return Credentials{std::move(*authority), std::move(*certificate), std::move(*key), std::move(*token)};
}

}  // namespace znni::client
