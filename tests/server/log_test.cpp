#include "server/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace znni {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// The lines of a log that has ended.
std::vector<std::string> lines_of(LogFormat format, const std::function<void(const Log&)>& use) {
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

TEST(Log, NumbersThatJsonHasNotAreNull) {
  EXPECT_EQ(json_line("", LogLevel::error, "", {{"a", 0.0 / 0.0}}),
            R"({"time":"","level":"error","message":"","a":null})");
}

TEST(Log, TextHasTimeAndLevel) {
  const std::vector<std::string> lines = lines_of(LogFormat::text, [](const Log& log) {
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
  const std::vector<std::string> lines = lines_of(LogFormat::json, [](const Log& log) { log.info("one"); });
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], StartsWith(R"({"time":"20)"));
  EXPECT_THAT(lines[0], EndsWith(R"(Z","level":"info","message":"one"})"));
}

TEST(Log, BracesAreNoFormat) {
  EXPECT_THAT(lines_of(LogFormat::text, [](const Log& log) { log.info("{} {0:x} %v"); })[0], EndsWith("{} {0:x} %v"));
}

TEST(Log, ManyThreadsMayWrite) {
  const std::vector<std::string> lines = lines_of(LogFormat::text, [](const Log& log) {
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
