#include "server/rest/infer_call.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "server/rest/body_size.hpp"
#include "server/rest/connection.hpp"
#include "server/rest/http_status.hpp"
#include "server/rest/infer_message.hpp"
#include "server/rest/response_text.hpp"
#include "server/rest/tensor_text.hpp"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/connections/peer_address.hpp"
#include "server/rpc/inference/infer_exchange.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rest {
namespace {

using rpc::FrontDoor;

// Returns the client as gRPC writes it.
std::string peer_of(const HttpRequest& request) {
  return (request.peer.starts_with('[') ? "ipv6:" : "ipv4:") + request.peer;
}

Error client_gone() { return {ErrorCode::cancelled, "the caller is gone"}; }

// Tells of the client at the other end of the connection.
class HttpCaller final : public rpc::Caller {
 public:
  HttpCaller(const FrontDoor& door, Connection connection, std::string peer)
      : door_(door), connection_(connection), peer_(std::move(peer)) {}

  [[nodiscard]] std::optional<Error> gone() const override {
    if (door_.ended) return rpc::shutting_down();
    return connection_.is_closed() ? std::optional(client_gone()) : std::nullopt;
  }
  [[nodiscard]] std::string peer() const override { return peer_; }
  [[nodiscard]] bool may_share_memory() const override {
    return door_.limits.http_shares_memory && Caller::may_share_memory();
  }
  [[nodiscard]] const Connection& connection() const { return connection_; }

 private:
  const FrontDoor& door_;
  const Connection connection_;
  const std::string peer_;
};

// Holds the body, as far as it came.
struct ReceivedRequest {
  InferBody body;
  bool all = false;
};

ReceivedRequest read_body(const HttpRequest& request, const BodySize& size) {
  ReceivedRequest received;
  InferBody& body = received.body;
  const auto json = static_cast<std::size_t>(size.json);
  const auto binary = static_cast<std::size_t>(size.binary);
  body.json.reserve(json);
  body.binary.reserve(binary);
  static_cast<void>(request.read([&](const char* data, std::size_t bytes) {
    const std::size_t first = std::min(bytes, json - body.json.size());
    if (bytes - first > binary - body.binary.size()) return false;
    body.json.append(data, first);
    body.binary.append(data + first, bytes - first);
    return true;
  }));
  received.all = body.json.size() == json && body.binary.size() == binary;
  return received;
}

// Serves one call. As a body it sends the answer, which ends the call; it holds the memory of the call until then.
class InferCall final : public HttpBody {
 public:
  InferCall(FrontDoor& door, rpc::CallPass thread, rpc::CallPass pass, std::unique_ptr<const HttpCaller> caller)
      : door_(door),
        thread_(std::move(thread)),
        pass_(std::move(pass)),
        caller_(*caller),
        exchange_(door, std::move(caller), infer_method) {}
  ~InferCall() override {
    if (!finished_) finish(client_gone());
  }

  // Receives the request and computes its answer. An error ends the call.
  [[nodiscard]] Result<void> serve(const HttpRequest& request, const Route& route) {
    Result<void> done = receive(request, route);
    if (done) done = exchange_.compute(response_);
    if (done) done = check_numbers();
    if (!done) {
      finish(done);
      return done;
    }
    text_ = infer_text(response_, binary_);
    bytes_ = add(text_.bytes(), voxel_bytes());
    return {};
  }

  [[nodiscard]] bool binary() const { return binary_; }
  [[nodiscard]] std::int64_t head_bytes() const { return static_cast<std::int64_t>(text_.head.size()); }
  [[nodiscard]] std::string_view refusal() const { return exchange_.refusal(); }

  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  [[nodiscard]] bool write(const TakeBytes& send) override {
    const bool sent = send_all(send);
    std::int64_t freed = 0;
    for (const std::string& voxels : response_.raw_output_contents()) freed += static_cast<std::int64_t>(voxels.size());
    response_ = inference::ModelInferResponse();
    rpc::trim_heap_after(freed);
    return sent;
  }

 private:
  // Receives the request as open_inference.cpp does: a turn is held until the memory of the request is leased or free.
  Result<void> receive(const HttpRequest& request, const Route& route) {
    const std::int64_t most = door_.limits.wire.max_request_bytes;
    const Result<BodySize> size = read_body_size(request, most);
    if (!size) return size.error();
    rpc::Stall stall(door_.limits.seconds_for_body(add(size->json, size->binary)));
    const rpc::WatchedCall call = door_.watch.watch([&] { return gone_or_stalled(stall, &Connection::end_reading); });
    const Result<rpc::ReceiveTurns::Turn> turn =
        door_.receiving.wait(call.token(), rpc::client_of_peer(caller_.peer()));
    if (!turn) return call.reason(turn.error());
    ReceivedRequest received;
    {
      const rpc::Stall::Wait wait(stall);
      received = read_body(request, *size);
    }
    if (!received.all) return call.reason(caller_.gone().value_or(rpc::stalled()));
    Result<InferMessage> message = make_infer_message(std::move(received.body), most);
    if (!message) return message.error();
    binary_ = message->binary_output;
    message->request->set_model_name(route.model);
    message->request->set_model_version(route.version);
    exchange_.admit(std::move(message->request), add(size->json, size->binary));
    return {};
  }

  std::optional<Error> gone_or_stalled(const rpc::Stall& stall, void (Connection::*end)() const) const {
    if (std::optional<Error> error = caller_.gone()) {
      (caller_.connection().*end)();
      return error;
    }
    if (!stall.too_long()) return std::nullopt;
    (caller_.connection().*end)();
    return rpc::stalled();
  }

  // Refuses numbers that JSON has not: NaN and the infinite ones.
  [[nodiscard]] Result<void> check_numbers() const {
    if (binary_) return {};
    for (int i = 0; i < response_.raw_output_contents_size(); ++i) {
      if (are_finite(response_.raw_output_contents(i), type(i))) continue;
      return Error{ErrorCode::unsupported,
                   "the output has values that are not finite numbers, which JSON does not have: add the parameter "
                   "binary_data_output"};
    }
    return {};
  }

  [[nodiscard]] ElementType type(int output) const {
    return rpc::element_type(response_.outputs(output).datatype()).value_or(ElementType::f32);
  }
  [[nodiscard]] std::int64_t voxel_bytes() const {
    std::int64_t bytes = 0;
    for (int i = 0; i < response_.raw_output_contents_size(); ++i) {
      const std::string& voxels = response_.raw_output_contents(i);
      bytes = add(bytes, binary_ ? static_cast<std::int64_t>(voxels.size()) : number_bytes(voxels, type(i)));
    }
    return bytes;
  }

  bool send_voxels(int output, const TakeBytes& send) const {
    const std::string& voxels = response_.raw_output_contents(output);
    if (binary_) return send(voxels.data(), voxels.size());
    return write_numbers(voxels, type(output),
                         [&send](std::string_view piece) { return send(piece.data(), piece.size()); });
  }

  // Sends the text, and the voxels of each output where they belong.
  bool send_answer(const TakeBytes& send) const {
    bool sent = send(text_.head.data(), text_.head.size());
    for (std::size_t i = 0; sent && i < text_.tails.size(); ++i) {
      const std::string& tail = text_.tails[i];
      sent = send_voxels(static_cast<int>(i), send) && (tail.empty() || send(tail.data(), tail.size()));
    }
    return sent;
  }

  bool send_all(const TakeBytes& send) {
    rpc::Stall stall(door_.limits.seconds_for(bytes_));
    const rpc::WatchedCall call = door_.watch.watch([&] { return gone_or_stalled(stall, &Connection::end); });
    const rpc::Stall::Wait wait(stall);
    const bool sent = send_answer(send);
    finish(sent ? Result<void>() : Result<void>(call.reason(client_gone())));
    return sent;
  }

  void finish(const Result<void>& result) {
    finished_ = true;
    exchange_.finish(result);
  }

  FrontDoor& door_;
  rpc::CallPass thread_;
  rpc::CallPass pass_;
  const HttpCaller& caller_;  // owned by the exchange
  rpc::InferExchange exchange_;
  inference::ModelInferResponse response_;
  InferText text_;
  std::int64_t bytes_ = 0;
  bool binary_ = false;
  bool finished_ = false;
};

HttpReply refuse_as(const HttpRequest& request, const grpc::Status& status, std::string_view refusal) {
  return refuse(request, http_status(status.error_code(), refusal), status.error_message());
}

}  // namespace

std::string token_of(const HttpRequest& request) {
  const std::vector<std::string> found = request.header("Authorization");
  return found.size() == 1 ? found.front() : std::string();
}

HttpReply refuse(const HttpRequest& request, int status, std::string_view message) {
  HttpReply reply;
  reply.status = status;
  reply.text = error_text(message);
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  const bool has_body = !request.header("Content-Length").empty() || !request.header("Transfer-Encoding").empty();
  if (!has_body || request.method != "POST") return reply;
  reply.discard = is_plain_body(request);
  reply.close = !reply.discard;
  return reply;
}

HttpReply infer(FrontDoor& door, rpc::CallGate& gate, const HttpRequest& request, const Route& route) {
  const grpc::Status allowed = door.guard.check(token_of(request), rpc::Access::infer);
  if (!allowed.ok()) return refuse_as(request, door.refuse(infer_method, allowed), "");
  const std::string client = rpc::client_of_peer(peer_of(request));
  Result<rpc::CallPass> thread = gate.enter(client);
  if (!thread) return refuse_as(request, door.refuse(infer_method, rpc::to_status(thread.error())), "");
  Result<rpc::CallPass> pass = door.gate.enter(client);
  if (!pass) return refuse_as(request, door.refuse(infer_method, rpc::to_status(pass.error())), "");
  const std::optional<Connection> connection = Connection::find(request.peer, request.own);
  if (!connection) return refuse_as(request, door.refuse(infer_method, rpc::to_status(client_gone())), "");
  const auto call = std::make_shared<InferCall>(door, *std::move(thread), *std::move(pass),
                                                std::make_unique<HttpCaller>(door, *connection, peer_of(request)));
  if (const Result<void> served = call->serve(request, route); !served) {
    return refuse_as(request, rpc::to_status(served), call->refusal());
  }
  HttpReply reply;
  if (call->binary()) {
    reply.type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(call->head_bytes()));
  }
  reply.body = call;
  return reply;
}

}  // namespace znni::rest
