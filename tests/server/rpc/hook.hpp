// A function that a test runs inside a fake, in the fake's threads.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace znni::rpc {

// A function that may be set while others call; nothing happens while there is none. What its setter did before is seen
// by the function.
template <class... Arguments>
class Hook {
 public:
  Hook& operator=(std::function<void(Arguments...)> function) {
    const std::scoped_lock lock(mutex_);
    function_ = std::move(function);
    return *this;
  }
  void operator()(Arguments... arguments) const {
    if (const std::function<void(Arguments...)> function = current()) function(arguments...);
  }

 private:
  [[nodiscard]] std::function<void(Arguments...)> current() const {
    const std::scoped_lock lock(mutex_);
    return function_;
  }

  mutable std::mutex mutex_;
  std::function<void(Arguments...)> function_;
};

}  // namespace znni::rpc
