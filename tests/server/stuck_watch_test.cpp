#include "server/stuck_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/server/notify_socket.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StuckWatch, TheSupervisorHearsOfALifeThatGoesOnAndOfNoOther) {
  const test::NotifySocket socket;
  std::vector<std::string> lines;
  {
    const Log log(LogFormat::text, [&lines](std::string_view line) { lines.emplace_back(line); });
    std::atomic<bool> stuck = false;
    std::atomic<int> asked = 0;
    const StuckReason reason = [&]() -> std::optional<std::string> {
      ++asked;
      return stuck ? std::optional<std::string>("no progress for 601 s") : std::nullopt;
    };
    const auto wait_for_asked = [&asked](int more) {
      for (const int until = asked + more; asked < until;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    const std::jthread watch([&](const std::stop_token& stop) {
      watch_for_stuck(reason, Supervisor(socket.name()), log, std::chrono::milliseconds(1), stop);
    });
    EXPECT_EQ(socket.wait(), "WATCHDOG=1");
    EXPECT_EQ(socket.wait(), "WATCHDOG=1");
    stuck = true;
    wait_for_asked(2);  // the answer to the first may have been given before
    while (!socket.take().empty()) {
    }
    wait_for_asked(5);
    EXPECT_EQ(socket.take(), "");
    stuck = false;
    EXPECT_EQ(socket.wait(), "WATCHDOG=1");
  }
  EXPECT_THAT(lines, ElementsAre(HasSubstr("error stuck: no progress for 601 s;"), HasSubstr("info no longer stuck")));
}

}  // namespace
}  // namespace znni
