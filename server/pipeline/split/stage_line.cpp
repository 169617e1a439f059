#include "server/pipeline/split/stage_line.hpp"

#include <optional>
#include <thread>

namespace znni {
namespace {

// Asks for room before it takes an item: else the head would begin a fourth one.
Result<void> run_tail(const StageLine& line, Handoff& from, Handoff& to, const std::stop_token& stop) {
  for (;;) {
    if (Result<void> room = to.wait_for_room(stop); !room) return room;
    const Result<std::optional<std::int64_t>> item = from.take(stop);
    if (!item) return item.error();
    if (!*item) return {};
    if (Result<void> ran = line.tail(**item, stop); !ran) return ran;
    to.deliver(**item);
  }
}

Result<void> finish_all(const StageLine& line, Handoff& from, const std::stop_token& stop) {
  for (;;) {
    const Result<std::optional<std::int64_t>> item = from.take(stop);
    if (!item) return item.error();
    if (!*item) return {};
    if (Result<void> finished = line.finish(**item); !finished) return finished;
  }
}

}  // namespace

Result<HandoffIdle> run_stage_line(const StageLine& line, const std::stop_token& stop) {
  // Stops head and tail where a worker behind them fails or the caller asks. What the tail has passed on is finished.
  std::stop_source ending;
  const std::stop_callback forward(stop, [&ending] { ending.request_stop(); });
  Handoff to_tail;
  Handoff to_finish;
  const auto end_before = [&ending](Handoff& from, const Error& reason) {
    from.refuse(reason);
    ending.request_stop();
  };
  Result<void> finished;
  {
    const std::jthread head([&] { to_tail.end(line.head(to_tail, ending.get_token())); });
    std::jthread tail;
    try {
      tail = std::jthread([&] {
        const Result<void> ran = run_tail(line, to_tail, to_finish, ending.get_token());
        if (!ran) end_before(to_tail, ran.error());
        to_finish.end(ran);
      });
    } catch (...) {  // no thread is left: the head must not wait for one
      ending.request_stop();
      throw;
    }
    finished = finish_all(line, to_finish, stop);
    if (!finished) end_before(to_finish, finished.error());
  }
  if (!finished) return finished.error();
  return HandoffIdle{to_tail.idle().producer, to_tail.idle().consumer + to_finish.idle().producer};
}

}  // namespace znni
