// Answers the Open Inference Protocol v2 over HTTP.
#pragma once

#include <string>
#include <utility>

#include "server/metrics/http_exchange.hpp"
#include "server/rest/route.hpp"
#include "server/rpc/calls/front_door.hpp"

namespace znni::rest {

class RestService {
 public:
  // Serves REST. `closed` tells clients why models are not served over HTTP; "" if they are. Questions that need no
  // token, whether the server and its models are alive and ready, are answered in any case. `door` must outlive this.
  RestService(rpc::FrontDoor& door, std::string closed)
      : door_(door),
        closed_(std::move(closed)),
        gate_(max_waiting_requests, door.limits.share_of(max_waiting_requests)) {}

  [[nodiscard]] HttpReply answer(const HttpRequest& request);

 private:
  [[nodiscard]] HttpReply ask(const HttpRequest& request, const Route& route);
  [[nodiscard]] HttpReply model_ready(const HttpRequest& request, const Route& route) const;
  [[nodiscard]] HttpReply metadata(const HttpRequest& request, const Route& route) const;

  rpc::FrontDoor& door_;
  const std::string closed_;
  rpc::CallGate gate_;
};

}  // namespace znni::rest
