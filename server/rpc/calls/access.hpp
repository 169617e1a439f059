// Decides by bearer tokens which calls a client may make: one token for using models, another for managing them.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

namespace znni::rpc {

enum class Access { infer, manage };

// "" asks for none. With an infer token alone no client may manage.
struct Tokens {
  std::string infer;
  std::string manage;
};

class Guard {
 public:
  explicit Guard(Tokens tokens) : tokens_(std::move(tokens)) {}

  // Looks for `authorization: Bearer <token>` among the call's metadata. UNAUTHENTICATED without a token that is ours,
  // PERMISSION_DENIED with one that is for something else; a manager may infer too.
  [[nodiscard]] grpc::Status check(const grpc::ServerContext& context, Access access) const;
  // Checks the value of the header in the same way; "" if there is none.
  [[nodiscard]] grpc::Status check(std::string_view authorization, Access access) const;

 private:
  Tokens tokens_;
};

}  // namespace znni::rpc
