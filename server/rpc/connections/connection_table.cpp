#include "server/rpc/connections/connection_table.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni::rpc {
namespace {

// Returns the inode of an open socket; nothing if `descriptor` is not one.
std::optional<ino_t> inode_of(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return std::nullopt;
  return facts.st_ino;
}

}  // namespace

Admission ConnectionTable::admit(int descriptor, const std::string& client, Clock::time_point now,
                                 const std::string& peer) {
  const std::scoped_lock lock(mutex_);
  // Its number is free again, so the connection that had it before has ended.
  if (const auto before = connections_.find(descriptor); before != connections_.end()) forget(before);
  if (room_for(client) != Admission::admitted && now - looked_ >= between_looks) {
    forget_closed();
    looked_ = now;
  }
  const Admission admission = room_for(client);
  if (admission != Admission::admitted) return admission;
  connections_[descriptor] = {descriptor, inode_of(descriptor).value_or(0), client, peer};
  ++of_clients_[client];
  return admission;
}

std::int64_t ConnectionTable::count() {
  const std::scoped_lock lock(mutex_);
  forget_closed();
  return static_cast<std::int64_t>(connections_.size());
}

std::vector<OpenConnection> ConnectionTable::open() const {
  const std::scoped_lock lock(mutex_);
  std::vector<OpenConnection> all;
  for (const auto& [descriptor, connection] : connections_) all.push_back(connection);
  return all;
}

std::optional<OpenConnection> ConnectionTable::find(const std::string& peer) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&peer](const auto& each) { return each.second.peer == peer; });
  return found == connections_.end() ? std::nullopt : std::optional(found->second);
}

// Breaks a connection at once, by an address of no family. A shutdown would leave what was received to be read.
bool ConnectionTable::cut(const OpenConnection& connection) {
  const std::scoped_lock lock(mutex_);
  const auto noted = connections_.find(connection.descriptor);
  if (noted == connections_.end() || noted->second.inode != connection.inode) return false;
  // The number may be closed and given to another connection at any time; a copy stays what it is.
  const OwnedDescriptor copy(fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy && errno != EBADF) return false;  // no descriptor is free: the next look tries again
  forget(noted);
  if (!copy || inode_of(copy.number()) != connection.inode) return false;
  const sockaddr none{};
  if (connect(copy.number(), &none, sizeof(none)) != 0) shutdown(copy.number(), SHUT_RDWR);
  return true;
}

void ConnectionTable::forget(std::map<int, OpenConnection>::iterator connection) {
  const auto client = of_clients_.find(connection->second.client);
  if (--client->second == 0) of_clients_.erase(client);
  connections_.erase(connection);
}

void ConnectionTable::forget_closed() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto connection = each++;
    if (inode_of(connection->first) != connection->second.inode) forget(connection);
  }
}

Admission ConnectionTable::room_for(const std::string& client) const {
  if (static_cast<int>(connections_.size()) >= limits_.most) return Admission::server_full;
  const auto held = of_clients_.find(client);
  const bool full = held != of_clients_.end() && held->second >= limits_.max_of_client;
  return full ? Admission::client_full : Admission::admitted;
}

}  // namespace znni::rpc
