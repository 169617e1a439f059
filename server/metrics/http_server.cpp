#include "server/metrics/http_server.hpp"

#include <httplib.h>

#include <atomic>
#include <thread>
#include <utility>

namespace znni {
namespace {

constexpr std::size_t threads = 16;  // of which as many clients less one may be slow before a probe waits for them
constexpr std::size_t most_request_body_bytes = 1024;
constexpr int patience_seconds = 5;  // for a client that sends or takes nothing

// A port of a daemon that has just ended is free again; one that is in use is not shared.
void set_socket_options(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

void add_page(httplib::Server& server, const char* path, std::function<HttpAnswer()> page, const char* type) {
  server.Get(path, [page = std::move(page), type](const httplib::Request&, httplib::Response& response) {
    const HttpAnswer answer = page();
    response.status = answer.status;
    response.set_content(answer.body, type);
  });
}

}  // namespace

struct HttpServer::State {
  httplib::Server server;
  int port = 0;
  std::atomic<bool> ended = false;
  std::jthread thread;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& address, int port, HttpPages pages) {
  auto state = std::make_unique<State>();
  httplib::Server& server = state->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };  // the library's to delete
  server.set_socket_options(set_socket_options);
  server.set_payload_max_length(most_request_body_bytes);
  server.set_read_timeout(patience_seconds);
  server.set_write_timeout(patience_seconds);
  server.set_keep_alive_timeout(1);
  add_page(server, "/metrics", std::move(pages.metrics), "text/plain; version=0.0.4; charset=utf-8");
  add_page(server, "/livez", std::move(pages.live), "text/plain; charset=utf-8");
  add_page(server, "/readyz", std::move(pages.ready), "text/plain; charset=utf-8");
  const bool bound =
      port == 0 ? (state->port = server.bind_to_any_port(address)) > 0 : server.bind_to_port(address, port);
  if (!bound) {
    return Error{ErrorCode::unavailable, "cannot listen on " + address + ":" + std::to_string(port) +
                                             " for metrics: the port is in use or the address is not of this machine; "
                                             "choose another --metrics-port or --metrics-address"};
  }
  if (port != 0) state->port = port;
  State& running = *state;
  state->thread = std::jthread([&running] {
    running.server.listen_after_bind();
    running.ended = true;
  });
  // What stops it before it runs would be lost.
  while (!server.is_running() && !running.ended) std::this_thread::yield();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->server.stop();
  state_->thread.join();
}

int HttpServer::port() const { return state_->port; }

}  // namespace znni
