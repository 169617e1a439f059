#include "server/rpc/calls/access.hpp"

#include <algorithm>
#include <cstddef>

#include "server/rpc/base/status_map.hpp"

namespace znni::rpc {
namespace {

constexpr std::string_view scheme = "bearer ";  // any case is right (RFC 9110, 11.1)

// Compares two tokens in a time that does not depend on where they differ.
bool same(std::string_view found, const std::string& token) {
  if (token.empty() || found.size() != token.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    difference |= static_cast<unsigned char>(found[i]) ^ static_cast<unsigned char>(token[i]);
  }
  return difference == 0;
}

bool has_scheme(std::string_view authorization) {
  const auto same_letter = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b); };
  return authorization.size() >= scheme.size() &&
         std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                    [&](char wanted, char found) { return same_letter(found, wanted); });
}

}  // namespace

grpc::Status Guard::check(const grpc::ServerContext& context, Access access) const {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  if (found == metadata.end()) return check(std::string_view(), access);
  return check(std::string_view(found->second.data(), found->second.size()), access);
}

grpc::Status Guard::check(std::string_view authorization, Access access) const {
  if (tokens_.infer.empty() && (access == Access::infer || tokens_.manage.empty())) return grpc::Status::OK;
  const bool bears = has_scheme(authorization);
  const std::string_view token = bears ? authorization.substr(scheme.size()) : std::string_view();
  const bool manages = same(token, tokens_.manage);
  const bool infers = same(token, tokens_.infer);
  if (manages || (infers && access == Access::infer)) return grpc::Status::OK;
  if (infers) return permission_denied("this token is for inference, not for the management of models");
  return unauthenticated("expected the metadata 'authorization: Bearer <token>' with a token of this server");
}

}  // namespace znni::rpc
