// A descriptor of the system that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace znni::rpc {

class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int number) : number_(number) {}
  ~OwnedDescriptor() { reset(); }
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(other.release()) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }

  // Returns the descriptor; -1 if it holds none.
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  // Gives it up without closing it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset(int number = -1) {
    const int old = std::exchange(number_, number);
    if (old >= 0) close(old);
  }

 private:
  int number_ = -1;
};

}  // namespace znni::rpc
