// A connection to one znnid, with the calls that a client makes before it streams.
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
  std::int64_t f_in = 1;               // of all inputs, which follow each other in a stream
  std::int64_t f_out = 1;              // of all outputs, which follow each other in a stream
  Vec3 field_of_view = Vec3::cube(1);  // voxels by which the output is smaller than the volume, plus 1
  Vec3 window;  // over which it normalises: other volumes are a blend of overlapping ones; zeros if there is none
  double window_overlap = 0;    // share of a window by which neighbours overlap
  Vec3 padding_before;          // voxels beyond its field of view that an output voxel depends on
  Vec3 padding_after;           // the same behind it
  Vec3 period = Vec3::cube(1);  // volumes have `min_extent` voxels and multiples of this more
  Vec3 min_extent = Vec3::cube(1);
  bool needs_whole = false;                       // takes mean and deviation of all of a volume before it begins
  std::map<std::string, std::string> properties;  // of the model's metadata
};

// PEM texts and a token; "" means not used. With an `authority` the connection uses TLS.
struct Credentials {
  std::string authority;
  std::string certificate;
  std::string key;
  std::string token;
};

class Connection {
 public:
  // Opens a channel to `address`, HOST:PORT. Sends nothing yet.
  explicit Connection(std::string address, const Credentials& credentials = {});

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Adds the token, if there is one, to the call's metadata.
  void identify(grpc::ClientContext& context) const;

  // Returns the Error of a failed call that has ended, in one line. It is the daemon's message, or says that nothing
  // answers at the address, with TLS as a reason if it is used.
  [[nodiscard]] Error to_error(const grpc::Status& status, const grpc::ClientContext& context) const;

  // Returns whether the daemon would admit a request to each of the models that it is expected to serve.
  [[nodiscard]] Result<bool> ready() const;
  // Returns the names of the daemon's models, each with "ready" or its state and the reason.
  [[nodiscard]] Result<std::map<std::string, std::string>> models() const;
  // Returns the facts of a model; version "" is the newest. Fails with not_found if the daemon does not know the model,
  // with unavailable if the daemon cannot be reached.
  [[nodiscard]] Result<ModelFacts> model(const std::string& name, const std::string& version = "") const;

 private:
  std::string address_;
  std::string token_;
  bool uses_tls_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace znni::client
