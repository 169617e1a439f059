// Describes a request over HTTP and its answer, apart from the library that speaks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace znni {

// Takes bytes; returns false to be given no more.
using TakeBytes = std::function<bool(const char* data, std::size_t bytes)>;

// Describes a request while it is answered. Its functions are for the thread that answers.
struct HttpRequest {
  std::string method;  // "GET", "HEAD" or "POST"
  std::string path;    // decoded, without the query
  std::string peer;    // the client's address and port: "127.0.0.1:5000", "[::1]:5000"
  std::string own;     // the server's end, likewise
  // Returns all values of a header, whose name may be of any case.
  std::function<std::vector<std::string>(const char* name)> header;
  // Hands the body to `take`, piece by piece as it comes. Returns false if not all of it was taken: `take` wanted no
  // more, or the client sent nothing for some seconds or is gone. A second call reads nothing and returns the same.
  std::function<bool(const TakeBytes& take)> read;
};

// Sends a body that is not a text in memory.
class HttpBody {
 public:
  virtual ~HttpBody() = default;
  // Returns how many bytes write() sends; at least one.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
  // Sends all of it, once. Returns false if `send` did: the client is gone.
  [[nodiscard]] virtual bool write(const TakeBytes& send) = 0;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;                // the body, not empty, if there is no `body`
  std::shared_ptr<HttpBody> body;  // kept until it was sent
  bool discard = false;            // the rest of the request's body is read first, or else:
  bool close = false;              // the connection is not used again: part of the request was not read
};

// Bounds the requests of a service that may wait for work at the same time: threads are left for others.
inline constexpr int max_waiting_requests = 16;

// Answers requests; called from several threads at once.
using HttpService = std::function<HttpReply(const HttpRequest&)>;

}  // namespace znni
