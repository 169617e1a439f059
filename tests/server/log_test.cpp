#include "server/log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <latch>
#include <thread>
#include <vector>

namespace znni {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Returns the lines of a log that has ended.
std::vector<std::string> log_lines(LogFormat format, const std::function<void(const Log&)>& use) {
  std::vector<std::string> lines;
  {
    const Log log(format, [&lines](std::string_view line) { lines.emplace_back(line); });
    use(log);
  }
  return lines;
}

TEST(Log, FieldsStandBehindTheMessage) {
  EXPECT_EQ(text_line("call", {{"model", "net"}, {"count", 3}, {"seconds", 0.25}}),
            "call model=net count=3 seconds=0.25");
}

TEST(Log, ValuesThatNeedQuotesGetThem) {
  EXPECT_EQ(text_line("call", {{"id", "a b"}, {"empty", ""}, {"sum", "a=b"}}), R"(call id="a b" empty="" sum="a=b")");
}

TEST(Log, AClientCannotForgeALine) {
  const std::string id = "x\n2026-01-01 info call code=OK";
  EXPECT_THAT(text_line("call", {{"id", id}}), Not(HasSubstr("\n")));
  EXPECT_THAT(json_line("t", LogLevel::info, "call", {{"id", id}}), Not(HasSubstr("\n")));
  EXPECT_EQ(text_line("two\nlines", {}), "two\\nlines");
}

TEST(Log, JsonLine) {
  EXPECT_EQ(json_line("2026", LogLevel::warning, "call", {{"id", "a\"b"}, {"count", 3}, {"seconds", 0.25}}),
            R"({"time":"2026","level":"warning","message":"call","id":"a\"b","count":3,"seconds":0.25})");
}

TEST(Log, SizesAndSettingsAreNumbersInJson) {
  const auto json = [](const LogField& field) { return json_line("", LogLevel::info, "", {field}); };
  const LogField size = LogField::size("mem", std::int64_t{3} << 29);
  EXPECT_EQ(text_line("memory", {size}), R"(memory mem="1.50 GiB")");
  EXPECT_THAT(json(size), EndsWith(R"(,"mem":1610612736})"));
  for (const std::string number : {"0", "-1", "8001", "2.5", "0.25", "-0.5", "86400"}) {
    EXPECT_THAT(json(LogField::setting("value", number)), EndsWith(",\"value\":" + number + "}"));
    EXPECT_EQ(text_line("", {LogField::setting("value", number)}), " value=" + number);
  }
  for (const std::string truth : {"true", "false"}) {
    EXPECT_THAT(json(LogField::setting("value", truth)), EndsWith(",\"value\":" + truth + "}"));
    EXPECT_EQ(text_line("", {LogField::setting("value", truth)}), " value=" + truth);
    EXPECT_THAT(json({"value", truth}), EndsWith(",\"value\":\"" + truth + "\"}")) << "a text that a client sent";
  }
  for (const std::string text :
       {"", "-", "True", "null", "007", "1.", ".5", "+1", "0x10", "nan", "inf", "1e3x", "127.0.0.1", "1 2"}) {
    EXPECT_THAT(json(LogField::setting("value", text)), EndsWith(",\"value\":\"" + text + "\"}"));
  }
}

TEST(Log, NumbersThatJsonHasNotAreNull) {
  EXPECT_EQ(json_line("", LogLevel::error, "", {{"a", 0.0 / 0.0}}),
            R"({"time":"","level":"error","message":"","a":null})");
}

TEST(Log, TextHasTimeAndLevel) {
  const std::vector<std::string> lines = log_lines(LogFormat::text, [](const Log& log) {
    log.info("one", {{"k", "v"}});
    log.warning("two");
    log.error("three");
  });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], EndsWith(" info one k=v"));
  EXPECT_THAT(lines[1], EndsWith(" warning two"));
  EXPECT_THAT(lines[2], EndsWith(" error three"));
  EXPECT_EQ(lines[0].find(" info"), std::string("2026-01-01 00:00:00.000").size());
}

TEST(Log, JsonIsTheWholeLine) {
  const std::vector<std::string> lines = log_lines(LogFormat::json, [](const Log& log) { log.info("one"); });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], StartsWith(R"({"time":"20)"));
  EXPECT_THAT(lines[0], EndsWith(R"(Z","level":"info","message":"one"})"));
}

TEST(Log, BracesAreNoFormat) {
  EXPECT_THAT(log_lines(LogFormat::text, [](const Log& log) { log.info("{} {0:x} %v"); })[0], EndsWith("{} {0:x} %v"));
}

// A pipe that nothing more fits into; what reads it has stopped.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC), 0);
    const std::string block(4096, '.');
    while (write(ends_[1], block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(fcntl(ends_[1], F_SETFL, 0), 0);  // as a daemon is given it
  }
  ~FullPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  [[nodiscard]] int written() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

// Without an end to its waiting this test never ends.
TEST(Log, EndsThoughNothingReadsIt) {
  const FullPipe pipe;
  const Log log(LogFormat::text, pipe.written(), std::chrono::milliseconds(0));
  for (int i = 0; i < 20'000; ++i) log.info("line");
}

TEST(Log, SaysHowManyLinesWereDropped) {
  constexpr int count = 50;
  std::latch entered(1);
  std::latch released(1);
  std::vector<std::string> lines;
  const auto write = [&](std::string_view line) {
    if (lines.empty()) {
      entered.count_down();
      released.wait();
    }
    lines.emplace_back(line);
  };
  {
    const Log log(LogFormat::json, write, 4);
    log.info("first");
    entered.wait();
    for (int i = 0; i < count; ++i) log.info("line " + std::to_string(i));
    released.count_down();
  }
  ASSERT_EQ(lines.size(), 1 + 1 + 4U) << "the first, the notice, those that waited";
  EXPECT_THAT(lines[1], HasSubstr(R"("level":"warning","message":"log lines were dropped)"));
  EXPECT_THAT(lines[1], EndsWith(R"("count":46})"));
  EXPECT_THAT(lines[2], HasSubstr("line 46"));
  EXPECT_THAT(lines.back(), HasSubstr("line 49"));
}

TEST(Log, ManyThreadsMayWrite) {
  const std::vector<std::string> lines = log_lines(LogFormat::text, [](const Log& log) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log] {
        for (int j = 0; j < 100; ++j) log.info("line");
      });
    }
  });
  EXPECT_EQ(lines.size(), 400U);
}

}  // namespace
}  // namespace znni
