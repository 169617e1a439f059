// Tells people that something is going on, when it takes long.
#pragma once

#include <chrono>
#include <functional>
#include <ostream>
#include <string>

namespace znni {

// Shows progress. On a terminal it writes one line again and again, from the second second on, and wipes it when the
// object goes. Elsewhere it writes a line every 30 s.
class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit Progress(std::ostream& out, bool terminal, Clock clock = std::chrono::steady_clock::now);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the text of what goes on from now on.
  void tell(std::string what);
  // Shows it when it is time to; cheap enough to be called a million times.
  void tick();
  // Wipes the line of a terminal, so that other text can be written; the next tick may show it again.
  void wipe();

 private:
  std::ostream& out_;
  bool terminal_;
  Clock clock_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
  std::string what_;
  std::string shown_;
};

}  // namespace znni
