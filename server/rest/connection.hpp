// Finds the connection that a request over HTTP came by: the library tells its addresses, but not its descriptor.
#pragma once

#include <optional>
#include <string>

namespace znni::rest {

// Holds a descriptor that the library owns: valid while the request is answered.
class Connection {
 public:
  // Returns the connection of this process from `peer` to `own`, "127.0.0.1:5000" or "[::1]:5000"; nothing where there
  // is none, or none any more.
  [[nodiscard]] static std::optional<Connection> find(const std::string& peer, const std::string& own);

  // Returns true if the client has closed it. May be called from any thread, as the next two.
  [[nodiscard]] bool is_closed() const;
  // Ends the wait of a thread that reads from it; an answer can still be sent.
  void end_reading() const;
  // Ends every wait on it.
  void end() const;

 private:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace znni::rest
