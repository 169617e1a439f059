#include "server/rpc/stream_watch.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace znni::rpc {
namespace {

constexpr std::chrono::milliseconds between_looks{10};
constexpr std::chrono::seconds between_warnings{10};
constexpr std::chrono::seconds between_sweeps{1};
constexpr std::chrono::seconds until_begun{1};

// Returns what the connection has received since it began (libc's own header is older than this count); nothing if it
// is closed.
std::optional<std::uint64_t> received_bytes(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  return info.tcpi_bytes_received;
}

}  // namespace

StreamWatch::StreamWatch(std::int64_t server, ConnectionTable& table, StreamAccount& account, Warn warn)
    : counts_(server),
      table_(table),
      account_(account),
      warn_(std::move(warn)),
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
  if (const auto now = StreamAccount::Clock::now(); now - swept_ >= between_sweeps) {
    account_.sweep(now);
    swept_ = now;
  }
}

bool StreamWatch::has_too_many(const OpenConnection& connection) {
  const StreamAccount::Clock::time_point now = StreamAccount::Clock::now();
  Seen& seen = seen_[connection.descriptor];
  if (seen.inode != connection.inode) seen = {connection.inode, 0, {}, 0};
  const std::optional<std::uint64_t> bytes = received_bytes(connection.descriptor);
  if (bytes && *bytes != seen.bytes) seen.when = now;
  // The library begins the calls in what was received a little later.
  if (!bytes || now - seen.when > until_begun) return account_.is_shut_out(connection.client, now);
  // A connection that has ended pays nothing back: its calls were not served.
  const std::optional<std::int64_t> unserved = counts_.unserved(connection.peer);
  if (!unserved) return account_.is_shut_out(connection.client, now);
  seen.bytes = *bytes;
  const std::int64_t more = *unserved - std::exchange(seen.unserved, *unserved);
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
