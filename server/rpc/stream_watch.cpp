#include "server/rpc/stream_watch.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace znni::rpc {
namespace {

constexpr std::chrono::milliseconds between_looks{10};
constexpr std::chrono::seconds between_warnings{10};

// By the connection since it began (libc's own header is older than this count); 0 where the system does not say.
std::uint64_t received_bytes(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_bytes_received : 0;
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
  for (const OpenConnection& each : open) {
    if (has_too_many(each)) shut(each);
  }
  if (open.empty()) seen_.clear();
}

bool StreamWatch::has_too_many(const OpenConnection& connection) {
  const StreamAccount::Clock::time_point now = StreamAccount::Clock::now();
  Seen& seen = seen_[connection.descriptor];
  if (seen.inode != connection.inode) seen = {connection.inode, 0, 0};
  const std::uint64_t bytes = received_bytes(connection.descriptor);
  if (bytes == seen.bytes) return account_.is_shut_out(connection.client, now);
  seen.bytes = bytes;
  const std::int64_t unserved = counts_.unserved(connection.peer);
  const std::int64_t more = unserved - std::exchange(seen.unserved, unserved);
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
