// Metrics, probes and a service of requests over HTTP, on a port and threads of their own. Pages answer whatever the
// rest of the daemon is doing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "primitives/core/result.hpp"
#include "server/metrics/http_connections.hpp"
#include "server/metrics/http_exchange.hpp"

namespace znni {

struct HttpAnswer {
  int status = 200;
  std::string body;  // plain text
};

// Called from several threads at once; of the pages none may wait for work.
struct HttpPages {
  std::function<HttpAnswer()> metrics;  // GET /metrics
  std::function<HttpAnswer()> live;     // GET /livez
  std::function<HttpAnswer()> ready;    // GET /readyz
  HttpService service;                  // GET /v2 and below; POST below it
  HttpConnections::Warn warn;           // told of connections that were closed for others; may be empty
};

class HttpServer {
 public:
  // Starts a server; `port` 0 is any free one. Fails with unavailable if the port is in use or the address is not of
  // this machine. A connection that passes `limits` is closed; so is one whose next request does not begin within a
  // second.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(const std::string& address, int port, HttpPages pages,
                                                                 const HttpLimits& limits = {});
  ~HttpServer();

  [[nodiscard]] int port() const;
  // Returns the counts of now. From any thread.
  [[nodiscard]] HttpFacts facts() const;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace znni
