#include "server/metrics/http_server.hpp"

#include <httplib.h>

#include <atomic>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/metrics/body_discard.hpp"
#include "server/metrics/http_stream.hpp"
#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/socket_address.hpp"

namespace znni {
namespace {

// Closes connections over the limits, and such as make room for others.
constexpr int spare_threads = 8;
constexpr std::chrono::seconds between_requests{1};  // of one connection
// Bounds paths: the library compares them by a recursion for each letter.
constexpr std::size_t max_path_bytes = 1024;
// Bounds connections that wait to be accepted. The library's own bound is 5: others of a burst would wait a second and
// more, until their system tries again.
constexpr int max_waiting = 512;

// Sets options so that the port of a daemon that has just ended is free again; one that is in use is not shared.
void set_socket_options(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

// Serves connections as the library does, under our limits.
class BoundedServer final : public httplib::Server {
 public:
  BoundedServer(const HttpLimits& limits, HttpConnections& connections) : limits_(limits), connections_(connections) {}

  // Lets more connections wait than the library does. The server is bound.
  void widen_queue() { ::listen(svr_sock_, max_waiting); }

 private:
  // Runs on a thread of the library, which never looks at the socket again.
  bool process_and_close_socket(socket_t socket) override {
    const rpc::OwnedDescriptor closed_at_the_end(socket);
    serve(socket);
    shutdown(socket, SHUT_RDWR);
    return true;
  }

  void serve(int socket) {
    const auto peer = rpc::SocketAddress::of_peer(socket);
    if (!peer) return;  // it is gone already
    const std::unique_ptr<HttpPlace> place = connections_.enter(socket, peer->text(), peer->client());
    if (!place) return;
    HttpStream stream(socket, *place, limits_.idle_timeout);
    bool is_last = false;
    for (std::size_t left = keep_alive_max_count_; left > 0 && !is_last && svr_sock_ != INVALID_SOCKET; --left) {
      if (!stream.has_request(between_requests)) return;
      place->begin_request();
      if (!process_request(stream, left == 1, is_last, nullptr)) return;
    }
  }

  const HttpLimits limits_;
  HttpConnections& connections_;
};

void add_page(httplib::Server& server, const char* path, std::function<HttpAnswer()> page, const char* type) {
  server.Get(path, [page = std::move(page), type](const httplib::Request&, httplib::Response& response) {
    const HttpAnswer answer = page();
    response.status = answer.status;
    response.set_content(answer.body, type);
  });
}

bool asks(const httplib::Request& request) { return request.method == "GET" || request.method == "HEAD"; }

// Returns true if the service's pattern for POST matches. The library would read other bodies into memory, whatever
// their length.
bool is_for_service(std::string_view path) {
  return path.starts_with("/v2/") && path.find_first_of("\r\n") == std::string_view::npos;
}

// Returns the status of a request that is not answered here, or 0.
int status_of_unserved(const httplib::Request& request, bool has_service) {
  if (!asks(request) && request.method != "POST") return 405;
  if (request.path.size() > max_path_bytes) return 414;
  if (!request.ranges.empty()) return 416;
  return asks(request) || (has_service && is_for_service(request.path)) ? 0 : 404;
}

// Sends the body. It is said to have failed where the connection is to close: the library keeps others, and takes the
// unread rest of a body for the next request.
void send_body(httplib::Response& response, const std::shared_ptr<const HttpReply>& reply) {
  const std::int64_t bytes = reply->body ? reply->body->bytes() : static_cast<std::int64_t>(reply->text.size());
  const auto provide = [reply](std::size_t /*offset*/, std::size_t /*left*/, httplib::DataSink& sink) {
    const auto send = [&sink](const char* data, std::size_t size) { return sink.write(data, size); };
    const bool sent = reply->body ? reply->body->write(send) : send(reply->text.data(), reply->text.size());
    return sent && !reply->close;
  };
  response.set_content_provider(static_cast<std::size_t>(bytes), reply->type, provide);
}

void send(httplib::Response& response, HttpReply reply) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (reply.close) response.set_header("Connection", "close");
  send_body(response, std::make_shared<const HttpReply>(std::move(reply)));
}

void refuse_unserved(const httplib::Request& request, httplib::Response& response, int status) {
  response.status = status;
  if (asks(request)) return;
  HttpReply reply;
  reply.status = status;
  reply.type = "text/plain; charset=utf-8";
  reply.text = "nothing of that kind is served here\n";
  reply.close = true;
  send(response, std::move(reply));
}

std::vector<std::string> values_of(const httplib::Request& request, const char* name) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < request.get_header_value_count(name); ++i) {
    values.push_back(request.get_header_value(name, i));
  }
  return values;
}

std::string point_of(const std::string& address, int port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

HttpRequest request_of(const httplib::Request& request) {
  HttpRequest told;
  told.method = request.method;
  told.path = request.path;
  told.peer = point_of(request.remote_addr, request.remote_port);
  told.own = point_of(request.local_addr, request.local_port);
  told.header = [&request](const char* name) { return values_of(request, name); };
  told.read = [](const TakeBytes& /*take*/) { return true; };
  return told;
}

void add_service(httplib::Server& server, HttpService service, HttpConnections& connections) {
  server.Get("/v2(/.*)?", [service](const httplib::Request& request, httplib::Response& response) {
    send(response, service(request_of(request)));
  });
  const auto discard = std::make_shared<BodyDiscard>();
  server.Post("/v2/.*",
              [service = std::move(service), discard, &connections](
                  const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& content) {
                HttpRequest told = request_of(request);
                connections.note_work(told.peer);
                std::optional<bool> read;
                told.read = [&](const TakeBytes& take) {
                  if (!read) read = content([&take](const char* data, std::size_t bytes) { return take(data, bytes); });
                  return *read;
                };
                HttpReply reply = service(told);
                if (reply.discard && !discard->discard(told)) reply.close = true;
                send(response, std::move(reply));
              });
}

}  // namespace

struct HttpServer::State {
  State(const HttpLimits& limits, HttpConnections::Warn warn)
      : connections(limits, std::move(warn)), server(limits, connections) {}

  HttpConnections connections;
  BoundedServer server;
  int port = 0;
  std::atomic<bool> ended = false;
  std::jthread thread;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& address, int port, HttpPages pages,
                                                      const HttpLimits& limits) {
  auto state = std::make_unique<State>(limits, std::move(pages.warn));
  BoundedServer& server = state->server;
  const auto threads = static_cast<std::size_t>(limits.most + spare_threads);
  server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };  // the library's to delete
  server.set_socket_options(set_socket_options);
  server.set_tcp_nodelay(true);
  const bool has_service = pages.service != nullptr;
  server.set_pre_routing_handler([has_service](const httplib::Request& request, httplib::Response& response) {
    const int status = status_of_unserved(request, has_service);
    if (status == 0) return httplib::Server::HandlerResponse::Unhandled;
    refuse_unserved(request, response, status);
    return httplib::Server::HandlerResponse::Handled;
  });
  add_page(server, "/metrics", std::move(pages.metrics), "text/plain; version=0.0.4; charset=utf-8");
  add_page(server, "/livez", std::move(pages.live), "text/plain; charset=utf-8");
  add_page(server, "/readyz", std::move(pages.ready), "text/plain; charset=utf-8");
  if (pages.service) add_service(server, std::move(pages.service), state->connections);
  const bool bound =
      port == 0 ? (state->port = server.bind_to_any_port(address)) > 0 : server.bind_to_port(address, port);
  if (!bound) {
    return Error{ErrorCode::unavailable, "cannot listen on " + address + ":" + std::to_string(port) +
                                             " for metrics: the port is in use or the address is not of this machine; "
                                             "choose another --metrics-port or --metrics-address"};
  }
  if (port != 0) state->port = port;
  server.widen_queue();
  State& running = *state;
  state->thread = std::jthread([&running] {
    running.server.listen_after_bind();
    running.ended = true;
  });
  // A stop that comes before the server runs would be lost.
  while (!server.is_running() && !running.ended) std::this_thread::yield();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->server.stop();
  state_->thread.join();
}

int HttpServer::port() const { return state_->port; }

HttpFacts HttpServer::facts() const { return state_->connections.facts(); }

}  // namespace znni
