// The Open Inference Protocol v2 over HTTP.
#pragma once

#include <string>
#include <utility>

#include "server/metrics/http_exchange.hpp"
#include "server/rest/route.hpp"
#include "server/rpc/front_door.hpp"

namespace znni::rest {

class RestService {
 public:
  // `closed`: why nobody may use models over HTTP, told to those who try; "" where they may. What anybody may ask,
  // whether server and models are alive and ready, is answered all the same. `door` must outlive this.
  RestService(rpc::FrontDoor& door, std::string closed) : door_(door), closed_(std::move(closed)) {}

  [[nodiscard]] HttpReply answer(const HttpRequest& request);

 private:
  [[nodiscard]] HttpReply ask(const HttpRequest& request, const Route& route);
  [[nodiscard]] HttpReply model_ready(const HttpRequest& request, const Route& route) const;
  [[nodiscard]] HttpReply metadata(const HttpRequest& request, const Route& route) const;

  rpc::FrontDoor& door_;
  const std::string closed_;
  rpc::CallGate gate_{most_waiting_requests};
};

}  // namespace znni::rest
