#include "server/rpc/volumes/send_queue.hpp"

#include <algorithm>
#include <utility>

namespace znni::rpc {

SendQueue::SendQueue() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

SendQueue::~SendQueue() {
  forget();
  thread_.join();
}

void SendQueue::forget() { thread_.request_stop(); }

bool SendQueue::push(std::int64_t bytes, Send send) {
  const std::scoped_lock lock(mutex_);
  if (failed_) return false;
  items_.push_back({bytes, std::move(send)});
  bytes_ += bytes;
  changed_.notify_all();
  return true;
}

bool SendQueue::wait_for_room(std::int64_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || bytes_ <= std::max<std::int64_t>(most, 0); });
  return !failed_;
}

bool SendQueue::has_room(std::int64_t most) {
  const std::scoped_lock lock(mutex_);
  return failed_ || bytes_ <= std::max<std::int64_t>(most, 0);
}

bool SendQueue::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failed_ || items_.empty(); });
  return !failed_;
}

void SendQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !items_.empty(); })) {
    if (stop.stop_requested()) return;
    const Send send = items_.front().send;
    lock.unlock();
    const bool sent = send();
    lock.lock();
    bytes_ -= items_.front().bytes;
    items_.pop_front();
    failed_ = !sent;
    changed_.notify_all();
    if (failed_) return;
  }
}

}  // namespace znni::rpc
