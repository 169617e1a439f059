#include "tests/support/sim_streams.hpp"

#include <algorithm>
#include <utility>

namespace znni::test {

SimStreams::SimStreams(std::uint64_t seed) : draws_(seed != 0), random_(seed) {
  lazy_ = draws_ ? static_cast<int>(random_.integer(0, stream_count)) : stream_count;
}

void SimStreams::give(Stream stream, SimSeconds seconds, std::function<void()> work) {
  Line& own = line(stream);
  own.free = std::max(own.free, now_) + seconds;
  own.busy += seconds;
  push(stream, {std::move(work), {}});
}

SimMark SimStreams::mark(Stream stream) const {
  return {static_cast<int>(stream), line(stream).given, std::max(line(stream).free, 0.0)};
}

void SimStreams::wait(Stream stream, const SimMark& mark) {
  line(stream).free = std::max(line(stream).free, mark.time);
  push(stream, {{}, mark});
}

void SimStreams::finish(const SimMark& mark) {
  while (lines_[static_cast<std::size_t>(mark.stream)].done < mark.number)
    ensure(step(), "marks lie behind their work");
  now_ = std::max(now_, mark.time);
}

void SimStreams::finish() {
  while (step()) {
  }
  for (const Line& each : lines_) now_ = std::max(now_, each.free);
}

bool SimStreams::ready(const Line& line) const {
  if (line.work.empty()) return false;
  const SimMark& mark = line.work.front().mark;
  return lines_[static_cast<std::size_t>(mark.stream)].done >= mark.number;
}

void SimStreams::push(Stream stream, Work work) {
  Line& own = line(stream);
  own.work.push_back(std::move(work));
  ++own.given;
  if (!draws_) {
    while (step()) {
    }
    return;
  }
  while (random_.chance(0.25) && step()) {
  }
}

int SimStreams::choose() {
  std::array<int, stream_count> open = {};
  std::int64_t count = 0;
  int last = -1;
  for (int i = 0; i < stream_count; ++i) {
    if (!ready(lines_[static_cast<std::size_t>(i)])) continue;
    last = i;
    if (i != lazy_ || random_.chance(0.05)) open[static_cast<std::size_t>(count++)] = i;
  }
  if (count == 0) return last;  // the lazy stream, or none
  return open[static_cast<std::size_t>(draws_ ? random_.integer(0, count - 1) : 0)];
}

bool SimStreams::step() {
  const int next = choose();
  if (next < 0) return false;
  Line& chosen = lines_[static_cast<std::size_t>(next)];
  const Work work = std::move(chosen.work.front());
  chosen.work.pop_front();
  if (work.run) work.run();
  ++chosen.done;
  return true;
}

}  // namespace znni::test
