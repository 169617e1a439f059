// Sends one after the other on a thread of its own, so that the caller need not wait for a slow receiver. The
// caller bounds how much may wait: wait_for_room().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace znni::rpc {

// Used by one thread.
class SendQueue {
 public:
  // False when the receiver is gone.
  using Send = std::function<bool()>;

  SendQueue();
  // Drops what has not begun; waits for what has.
  ~SendQueue();
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // Queues a send. `bytes`: what waits with it. Returns false, and queues nothing, once a send has failed.
  [[nodiscard]] bool push(std::int64_t bytes, Send send);
  // Waits until at most `most` bytes, less than nothing counting as nothing, wait or are being sent. False once a
  // send has failed.
  [[nodiscard]] bool wait_for_room(std::int64_t most);
  // Returns whether wait_for_room() would return at once.
  [[nodiscard]] bool has_room(std::int64_t most);
  // Waits until all is sent. False once a send has failed.
  [[nodiscard]] bool flush();
  // Drops what has not begun, and what comes later. Does not wait.
  void forget();

 private:
  struct Item {
    std::int64_t bytes = 0;
    Send send;
  };
  void work(const std::stop_token& stop);

  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::deque<Item> items_;  // the first one is being sent
  std::int64_t bytes_ = 0;
  bool failed_ = false;
  std::jthread thread_;
};

}  // namespace znni::rpc
