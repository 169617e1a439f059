// Streams of a simulated GPU. Work runs in any order that the streams and their events allow, on a clock of its own.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>

#include "primitives/core/accelerator.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

using SimSeconds = double;

// The work that a stream had been given when an event was recorded.
struct SimMark {
  int stream = 0;
  std::int64_t number = 0;  // number of the last piece of work before it; 0: none
  SimSeconds time = 0;      // time at which that work is done
};

// Deterministic streams. With seed 0, work runs as soon as it is given. With any other seed, work may be delayed until
// it is waited for. It then runs in an order drawn from the seed among all legal ones. A result that depends on an
// order without an event therefore comes out wrong. One stream drawn from the seed is lazy: it hardly ever runs before
// it must. Times do not depend on the seed. A stream does one piece of work at a time, and starts the next one when it
// has been given and the work that it waits for is done.
class SimStreams {
 public:
  explicit SimStreams(std::uint64_t seed);

  void give(Stream stream, SimSeconds seconds, std::function<void()> work);
  [[nodiscard]] SimMark mark(Stream stream) const;
  void wait(Stream stream, const SimMark& mark);
  // Run until the mark is passed, or until no work is left; the host's clock advances to that time.
  void finish(const SimMark& mark);
  void finish();

  [[nodiscard]] SimSeconds now() const { return now_; }
  // Advances the host's clock, as if the host were busy.
  void spend(SimSeconds seconds) { now_ += seconds; }
  // Returns the seconds in which a stream had work.
  [[nodiscard]] SimSeconds busy(Stream stream) const { return line(stream).busy; }

 private:
  struct Work {
    std::function<void()> run;  // empty: a wait
    SimMark mark;
  };
  struct Line {
    std::deque<Work> work;
    std::int64_t given = 0;
    std::int64_t done = 0;
    SimSeconds free = 0;  // time at which all its work is done
    SimSeconds busy = 0;
  };
  [[nodiscard]] Line& line(Stream stream) { return lines_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] const Line& line(Stream stream) const { return lines_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] bool ready(const Line& line) const;
  void push(Stream stream, Work work);
  // Returns a stream whose next piece of work may run now; -1 if there is none.
  int choose();
  // Runs one piece of work; returns false if none is left.
  bool step();

  std::array<Line, stream_count> lines_;
  SimSeconds now_ = 0;
  bool draws_;
  Random random_;
  int lazy_ = stream_count;  // the lazy stream; stream_count if there is none
};

}  // namespace znni::test
