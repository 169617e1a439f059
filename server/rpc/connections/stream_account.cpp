#include "server/rpc/connections/stream_account.hpp"

#include <algorithm>
#include <iterator>

namespace znni::rpc {

bool StreamAccount::add(const std::string& client, std::int64_t calls, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto [entry, is_new] = clients_.try_emplace(client);
  Balance& balance = entry->second;
  if (is_new) balance.when = now;
  forgive(balance, now);
  balance.calls = std::clamp(balance.calls + static_cast<double>(calls), 0.0, 2 * most);
  if (balance.calls > most) balance.shut_out = true;
  return balance.shut_out;
}

bool StreamAccount::is_shut_out(const std::string& client, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return false;
  forgive(entry->second, now);
  const bool shut_out = entry->second.shut_out;
  if (entry->second.calls == 0) clients_.erase(entry);
  return shut_out;
}

void StreamAccount::sweep(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  for (auto each = clients_.begin(); each != clients_.end();) {
    forgive(each->second, now);
    each = each->second.calls == 0 ? clients_.erase(each) : std::next(each);
  }
}

std::size_t StreamAccount::size() const {
  const std::scoped_lock lock(mutex_);
  return clients_.size();
}

void StreamAccount::forgive(Balance& balance, Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - balance.when).count();
  balance.when = now;
  balance.calls = std::max(0.0, balance.calls - seconds * forgiven_a_second);
  if (balance.calls <= most / 2) balance.shut_out = false;
}

}  // namespace znni::rpc
