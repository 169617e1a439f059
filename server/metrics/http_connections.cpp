#include "server/metrics/http_connections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_warnings{10};

}  // namespace

struct HttpPlace::Entry {
  int descriptor = -1;
  std::string peer;
  std::string client;
  Clock::time_point begun;  // the request
  bool is_worked_on = false;
  bool is_shut = false;  // to make room: it is not counted any more
};

HttpPlace::HttpPlace(HttpConnections& table, std::list<Entry>::iterator entry) : table_(table), entry_(entry) {}

HttpPlace::~HttpPlace() {
  const std::scoped_lock lock(table_.mutex_);
  table_.entries_.erase(entry_);
}

void HttpPlace::begin_request() const {
  const std::scoped_lock lock(table_.mutex_);
  entry_->begun = Clock::now();
  entry_->is_worked_on = false;
}

std::chrono::milliseconds HttpPlace::left() const {
  const std::scoped_lock lock(table_.mutex_);
  if (entry_->is_worked_on) return std::chrono::milliseconds::max();
  const Clock::duration left = entry_->begun + table_.limits_.request - Clock::now();
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds::zero());
}

void HttpPlace::note_late() const {
  const std::scoped_lock lock(table_.mutex_);
  ++table_.facts_.late;
}

HttpConnections::HttpConnections(const HttpLimits& limits, Warn warn)
    : limits_(limits), warn_(std::move(warn)), warnings_(between_warnings) {}

HttpConnections::~HttpConnections() = default;

std::unique_ptr<HttpPlace> HttpConnections::enter(int descriptor, const std::string& peer, const std::string& client) {
  const std::scoped_lock lock(mutex_);
  const bool is_over = held_by(&client) >= limits_.max_of_client;
  const bool is_full = held_by(nullptr) >= limits_.most;
  if (is_over || is_full) note_over_share(client);
  if (is_over && !make_room(&client)) return nullptr;
  if (!is_over && is_full && !make_room(nullptr)) return nullptr;
  const auto entry = entries_.insert(entries_.end(), {descriptor, peer, client, Clock::now()});
  return std::unique_ptr<HttpPlace>(new HttpPlace(*this, entry));
}

void HttpConnections::note_work(const std::string& peer) {
  const std::scoped_lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.peer == peer) entry.is_worked_on = true;
  }
}

HttpFacts HttpConnections::facts() const {
  const std::scoped_lock lock(mutex_);
  return facts_;
}

int HttpConnections::held_by(const std::string* client) const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(), [client](const Entry& entry) {
    return !entry.is_shut && (client == nullptr || entry.client == *client);
  }));
}

// Ends a connection to make room. Its thread, which waits for the client, ends at once, and closes it.
bool HttpConnections::make_room(const std::string* client) {
  auto oldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->is_shut || entry->is_worked_on || (client != nullptr && entry->client != *client)) continue;
    if (oldest == entries_.end() || entry->begun < oldest->begun) oldest = entry;
  }
  if (oldest == entries_.end()) return false;
  oldest->is_shut = true;
  shutdown(oldest->descriptor, SHUT_RDWR);
  return true;
}

void HttpConnections::note_over_share(const std::string& client) {
  ++facts_.over_share;
  const std::optional<std::int64_t> times = warnings_.happened(rpc::Paced::Clock::now());
  if (!times || !warn_) return;
  warn_("closed " + std::to_string(*times) + " connections of the metrics port for others that came, the last from " +
        client + ": " + std::to_string(limits_.max_of_client) + " of an address and " + std::to_string(limits_.most) +
        " in all are served at a time");
}

}  // namespace znni
