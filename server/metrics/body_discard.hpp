// Reads the rest of bodies that were refused: a client that still sends reads no answer.
#pragma once

#include <cstddef>
#include <semaphore>

#include "server/metrics/http_exchange.hpp"

namespace znni {

// Bounds how many bodies are read so: each keeps a thread of the server. Thread safe.
class BodyDiscard {
 public:
  static constexpr std::ptrdiff_t max_at_a_time = 4;

  // Reads the rest of the body, for some seconds at most. Returns true if that was all, false at once if too many
  // others do the same: then the connection is to be closed.
  [[nodiscard]] bool discard(const HttpRequest& request);

 private:
  std::counting_semaphore<max_at_a_time> free_{max_at_a_time};
};

}  // namespace znni
