#include "server/rpc/connections/stream_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "server/rpc/connections/received.hpp"

namespace znni::rpc {
namespace {

constexpr std::chrono::milliseconds between_looks{10};
constexpr std::chrono::seconds between_warnings{10};
constexpr std::chrono::seconds between_sweeps{1};
constexpr std::chrono::seconds until_begun{1};

}  // namespace

StreamWatch::StreamWatch(std::int64_t server, ConnectionTable& table, StreamAccount& account, Warn warn, Now now)
    : counts_(server),
      table_(table),
      account_(account),
      warn_(std::move(warn)),
      now_(std::move(now)),
      warnings_(between_warnings),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

void StreamWatch::work(const std::stop_token& stop) {
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    look();
    never.wait_for(lock, stop, between_looks, [] { return false; });
  }
}

void StreamWatch::look() {
  const std::vector<OpenConnection> open = table_.open();
  counts_.list_again();
  for (const OpenConnection& each : open) {
    if (has_too_many(each)) shut(each);
  }
  if (open.empty()) seen_.clear();
  if (const auto now = now_(); now - swept_ >= between_sweeps) {
    account_.sweep(now);
    shut_hoarders(open, now);
    swept_ = now;
  }
}

// Shuts the connections of clients with too many open calls. The account does not see clients that leave calls open
// slowly: it forgives faster than they begin.
void StreamWatch::shut_hoarders(const std::vector<OpenConnection>& open, StreamAccount::Clock::time_point now) {
  const auto has_more = [](const auto& client) { return static_cast<double>(client.second) > StreamAccount::most; };
  std::map<std::string, std::int64_t> found = open_calls(open);
  if (std::none_of(found.begin(), found.end(), has_more)) return;
  // Some may have ended since the connection brought something.
  for (const OpenConnection& each : open) ask_again(each);
  found = open_calls(open);
  for (const OpenConnection& each : open) {
    if (!has_more(*found.emplace(each.client, 0).first)) continue;
    account_.add(each.client, static_cast<std::int64_t>(2 * StreamAccount::most), now);
    shut(each);
  }
}

std::map<std::string, std::int64_t> StreamWatch::open_calls(const std::vector<OpenConnection>& open) {
  std::map<std::string, std::int64_t> calls;
  for (const OpenConnection& each : open) {
    const auto seen = seen_.find(each.descriptor);
    if (seen != seen_.end() && seen->second.inode == each.inode) calls[each.client] += seen->second.calls.open;
  }
  return calls;
}

void StreamWatch::ask_again(const OpenConnection& connection) {
  const auto seen = seen_.find(connection.descriptor);
  if (seen == seen_.end() || seen->second.inode != connection.inode || seen->second.calls.open == 0) return;
  seen->second.calls.open = counts_.begun(connection.peer).value_or(BegunCalls()).open;
}

bool StreamWatch::has_too_many(const OpenConnection& connection) {
  const StreamAccount::Clock::time_point now = now_();
  Seen& seen = seen_[connection.descriptor];
  if (seen.inode != connection.inode) seen = {connection.inode, 0, {}, {}};
  const std::optional<Received> received = received_by(connection.descriptor);
  if (received && received->bytes != seen.bytes) seen.when = now;
  // The library begins the calls in what was received a little later.
  if (!received || now - seen.when > until_begun) return account_.is_shut_out(connection.client, now);
  // A connection that has ended pays nothing back: its calls were not served.
  const std::optional<BegunCalls> calls = counts_.begun(connection.peer);
  if (!calls) return account_.is_shut_out(connection.client, now);
  seen.bytes = received->bytes;
  const std::int64_t more = calls->unserved - std::exchange(seen.calls, *calls).unserved;
  return account_.add(connection.client, more, now);
}

void StreamWatch::shut(const OpenConnection& connection) {
  if (!table_.cut(connection)) return;
  ++closed_;
  const std::optional<std::int64_t> times = warnings_.happened(Paced::Clock::now());
  if (times && warn_) {
    warn_("closed " + std::to_string(*times) + " connections, the last from " + connection.client +
          ": it begins calls and resets them or leaves them open, over " +
          std::to_string(static_cast<int>(StreamAccount::most)) + " at a time");
  }
}

}  // namespace znni::rpc
