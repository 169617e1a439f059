// A connection to one znnid, and what a client asks before it streams.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "primitives/core/shape.hpp"

namespace znni::client {

// Facts about a served model that a client needs to cut and pad volumes.
struct ModelFacts {
  std::string name;
  std::string version;
  bool ready = false;
  std::int64_t f_in = 1;
  std::int64_t f_out = 1;
  Vec3 field_of_view = Vec3::cube(1);
  std::map<std::string, std::string> properties;  // as the daemon tells them
};

// PEM texts and a token; "": not used. With an `authority` the connection is TLS.
struct Credentials {
  std::string authority;
  std::string certificate;
  std::string key;
  std::string token;
};

class Connection {
 public:
  // `address` is HOST:PORT. Nothing is sent yet.
  explicit Connection(std::string address, const Credentials& credentials = {});

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Every call bears the token, if there is one.
  void identify(grpc::ClientContext& context) const;

  // Whether a request to every model that the daemon expects would be admitted.
  [[nodiscard]] Result<bool> ready() const;
  // Names of the models the daemon has, with "ready" or why not.
  [[nodiscard]] Result<std::map<std::string, std::string>> models() const;
  // not_found for a model the daemon does not know, unavailable when it cannot be reached. "" = newest version.
  [[nodiscard]] Result<ModelFacts> model(const std::string& name, const std::string& version = "") const;

 private:
  std::string address_;
  std::string token_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A failed call that has ended, as an Error in one line: what the daemon says, or that nothing answers at the address.
[[nodiscard]] Error to_error(const grpc::Status& status, const grpc::ClientContext& context,
                             const std::string& address);

}  // namespace znni::client
