// Shares the threads of the HTTP port out among its clients: a connection keeps one from its begin to its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "server/metrics/http_exchange.hpp"
#include "server/rpc/connections/paced.hpp"

namespace znni {

struct HttpLimits {
  int most = max_waiting_requests + 48;           // connections that are served at the same time
  int max_of_client = most / 2;                   // of those, from one address
  std::chrono::milliseconds idle_timeout{5'000};  // of a client that is waited for: then its connection is closed
  // Bounds a request from its first byte to the last one of its answer, the pauses of its client included. A request
  // that a service works on is bounded by the service.
  std::chrono::milliseconds request{10'000};
};

// Counts connections since the start that were closed before they were answered.
struct HttpFacts {
  std::int64_t over_share = 0;  // for others: their client had too many, or all together had
  std::int64_t late = 0;        // their request took too long
};

class HttpConnections;

// Holds the place of one connection while it is served. Must not outlive its HttpConnections.
class HttpPlace {
 public:
  ~HttpPlace();
  HttpPlace(const HttpPlace&) = delete;
  HttpPlace& operator=(const HttpPlace&) = delete;

  // Lets the time for a request run from now.
  void begin_request() const;
  // Returns what is left of it, at least 0; without a bound while a service works.
  [[nodiscard]] std::chrono::milliseconds left() const;
  // Notes that the request was ended because no time was left.
  void note_late() const;

 private:
  friend class HttpConnections;
  struct Entry;
  HttpPlace(HttpConnections& table, std::list<Entry>::iterator entry);
  HttpConnections& table_;
  const std::list<Entry>::iterator entry_;
};

// Thread safe.
class HttpConnections {
 public:
  // Is told of connections that were closed for others, in one line, every ten seconds at most.
  using Warn = std::function<void(const std::string& line)>;

  explicit HttpConnections(const HttpLimits& limits, Warn warn = {});
  ~HttpConnections();

  // Gives the connection `descriptor` a place; `peer` is the text of its other end, `client` whom it is counted for. If
  // there is no room, shuts down the oldest connection on which no service works. It is one of the client, or of all
  // clients if these are too many together. Returns nullptr if a service works on all of them.
  [[nodiscard]] std::unique_ptr<HttpPlace> enter(int descriptor, const std::string& peer, const std::string& client);
  // Notes that a service works on the request of the connection from `peer`: it is not closed for others until its next
  // request begins.
  void note_work(const std::string& peer);
  [[nodiscard]] HttpFacts facts() const;

 private:
  friend class HttpPlace;
  using Entry = HttpPlace::Entry;
  [[nodiscard]] int held_by(const std::string* client) const;  // nullptr: by all
  [[nodiscard]] bool make_room(const std::string* client);
  void note_over_share(const std::string& client);

  const HttpLimits limits_;
  const Warn warn_;
  mutable std::mutex mutex_;  // guards all below
  std::list<Entry> entries_;
  HttpFacts facts_;
  rpc::Paced warnings_;
};

}  // namespace znni
