#include "server/follow_repository.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace znni {

void follow_repository(const std::function<void(const std::stop_token&)>& poll, double seconds,
                       const std::stop_token& stop) {
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
    if (!stop.stop_requested()) poll(stop);
  }
}

}  // namespace znni
