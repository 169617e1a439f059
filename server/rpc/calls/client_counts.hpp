// Counts what each client holds.
#pragma once

#include <map>
#include <string>

namespace znni::rpc {

// Clients are named as SocketAddress::client() does. Those who hold nothing are forgotten. Not thread safe.
class ClientCounts {
 public:
  [[nodiscard]] int of(const std::string& client) const {
    const auto found = counts_.find(client);
    return found == counts_.end() ? 0 : found->second;
  }
  void add(const std::string& client) { ++counts_[client]; }
  // Takes back one add().
  void remove(const std::string& client) {
    const auto found = counts_.find(client);
    if (--found->second == 0) counts_.erase(found);
  }
  [[nodiscard]] std::size_t clients() const { return counts_.size(); }

 private:
  std::map<std::string, int> counts_;
};

}  // namespace znni::rpc
