// Notices a client that keeps a call waiting: neither sends what is read nor takes what is written.
#pragma once

#include <atomic>
#include <cstdint>

namespace znni::rpc {

// One thread waits; another may ask at any time whether it has waited too long.
class Stall {
 public:
  // One wait for the client, from construction to destruction.
  class Wait {
   public:
    explicit Wait(Stall& stall);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Stall& stall_;
  };

  explicit Stall(double most_seconds) : most_seconds_(most_seconds) {}

  // Notes that the client did something: a wait that goes on begins again.
  void begin_anew();
  // A wait is going on, for longer than `most_seconds`.
  [[nodiscard]] bool too_long() const;

 private:
  const double most_seconds_;
  std::atomic<std::int64_t> since_ns_ = 0;  // of the steady clock; 0: no wait goes on
};

}  // namespace znni::rpc
