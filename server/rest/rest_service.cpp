#include "server/rest/rest_service.hpp"

#include "server/rest/http_status.hpp"
#include "server/rest/infer_call.hpp"
#include "server/rest/response_text.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/inference/model_questions.hpp"

namespace znni::rest {
namespace {

constexpr int not_found = 404;
constexpr int wrong_method = 405;
constexpr int forbidden = 403;
constexpr int not_ready = 503;

HttpReply tell(std::string text, int status = 200) {
  HttpReply reply;
  reply.status = status;
  reply.text = std::move(text);
  return reply;
}

HttpReply tell_error(const HttpRequest& request, const grpc::Status& status) {
  return refuse(request, http_status(status.error_code(), ""), status.error_message());
}

// Lists what there is over HTTP: gRPC has more.
inference::ServerMetadataResponse metadata_over_http(const rpc::FrontDoor& door) {
  inference::ServerMetadataResponse metadata = rpc::server_metadata(door);
  metadata.clear_extensions();
  for (const char* extension : {"parameters", "binary_tensor_data"}) metadata.add_extensions(extension);
  return metadata;
}

bool needs_models(Question question) { return question == Question::model || question == Question::infer; }

}  // namespace

HttpReply RestService::answer(const HttpRequest& request) {
  const Route route = route_of(request.path);
  if (route.question == Question::unknown) {
    return refuse(request, not_found,
                  "nothing is at " + rpc::in_quotes(request.path) + "; GET /v2 tells what is served");
  }
  const bool posts = request.method == "POST";
  if (posts != (route.question == Question::infer)) {
    return refuse(request, wrong_method,
                  std::string(posts ? "POST" : "GET") + " found, expected " + (posts ? "GET" : "POST"));
  }
  if (!needs_models(route.question)) return ask(request, route);
  // Refuses web pages: browsers let any page send requests to this machine, and say so by this header.
  if (!request.header("Origin").empty()) return refuse(request, forbidden, "web pages are not served");
  if (!closed_.empty()) return refuse(request, forbidden, "models are not served over HTTP: " + closed_);
  return posts ? infer(door_, gate_, request, route) : metadata(request, route);
}

HttpReply RestService::ask(const HttpRequest& request, const Route& route) {
  switch (route.question) {
    case Question::live: return tell(live_text());
    case Question::ready: return tell(ready_text(door_.ready()), door_.ready() ? 200 : not_ready);
    case Question::model_ready: return model_ready(request, route);
    default: return tell(to_text(metadata_over_http(door_)));
  }
}

HttpReply RestService::model_ready(const HttpRequest& request, const Route& route) const {
  const Result<bool> ready = rpc::is_model_ready(door_, route.model, route.version);
  if (!ready) return tell_error(request, rpc::to_status(ready.error()));
  return tell(model_ready_text(route.model, *ready), *ready ? 200 : not_ready);
}

HttpReply RestService::metadata(const HttpRequest& request, const Route& route) const {
  const grpc::Status allowed = door_.guard.check(token_of(request), rpc::Access::infer);
  if (!allowed.ok()) return tell_error(request, allowed);
  const Result<inference::ModelMetadataResponse> metadata = rpc::model_metadata(door_, route.model, route.version);
  return metadata ? tell(to_text(*metadata)) : tell_error(request, rpc::to_status(metadata.error()));
}

}  // namespace znni::rest
