// Streams of a simulated GPU: work that runs in any order the streams and their events allow, on a clock of its own.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>

#include "primitives/core/accelerator.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

using SimSeconds = double;

// What a stream had been given when an event was recorded.
struct SimMark {
  int stream = 0;
  std::int64_t number = 0;  // of the last piece of work before it; 0: none
  SimSeconds time = 0;      // when that is done
};

// Deterministic. With seed 0 work runs as soon as it is given. With any other it is put off, up to the wait for it, and
// then runs in an order drawn from the seed among all that are legal: a result that needs an order nobody asked for
// comes out wrong; one stream drawn from the seed hardly ever runs before it must. Times do not depend on that: a
// stream is busy with one piece of work at a time, and starts the next as soon as it was given and what it waits for is
// done.
class SimStreams {
 public:
  explicit SimStreams(std::uint64_t seed);

  void give(Stream stream, SimSeconds seconds, std::function<void()> work);
  [[nodiscard]] SimMark mark(Stream stream) const;
  void wait(Stream stream, const SimMark& mark);
  // Run until the mark is passed, until nothing is left; the host's clock goes on to then.
  void finish(const SimMark& mark);
  void finish();

  [[nodiscard]] SimSeconds now() const { return now_; }
  // The host was busy with something else.
  void spend(SimSeconds seconds) { now_ += seconds; }
  // Seconds a stream had work.
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
    SimSeconds free = 0;  // when all it was given is done
    SimSeconds busy = 0;
  };
  [[nodiscard]] Line& line(Stream stream) { return lines_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] const Line& line(Stream stream) const { return lines_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] bool ready(const Line& line) const;
  void push(Stream stream, Work work);
  // A stream whose next piece of work may run now; -1: there is none.
  int choose();
  // Runs one piece of work; false when none is left.
  bool step();

  std::array<Line, stream_count> lines_;
  SimSeconds now_ = 0;
  bool draws_;
  Random random_;
  int lazy_ = stream_count;  // the stream that hangs behind the others; stream_count: none does
};

}  // namespace znni::test
