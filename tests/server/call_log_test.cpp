#include "server/call_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace znni {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

rpc::CallRecord call(std::string_view method, std::string_view code) {
  rpc::CallRecord record;
  record.method = method;
  record.code = code;
  return record;
}

std::int64_t count_lines(const Lines& lines, const std::string& words) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

class CallLogTest : public testing::Test {
 protected:
  // Returns the lines that `use` and the end of the log make.
  Lines lines_of(const std::function<void(CallLog&)>& use) {
    Lines lines;
    {
      const Log log(LogFormat::json, [&lines](std::string_view line) { lines.emplace_back(line); });
      CallLog calls(log, [this] { return now_; });
      use(calls);
    }
    return lines;
  }
  std::chrono::steady_clock::time_point now_;
};

TEST_F(CallLogTest, EveryServedCallHasItsLine) {
  const Lines lines = lines_of([](CallLog& calls) {
    for (int i = 0; i < 100; ++i) calls.add(call("ModelInfer", "OK"));
  });
  EXPECT_EQ(lines.size(), 100U);
  EXPECT_THAT(lines.front(), HasSubstr(R"("message":"call","method":"ModelInfer")"));
}

TEST_F(CallLogTest, RefusedOnesHaveTenASecondAndACount) {
  const Lines lines = lines_of([this](CallLog& calls) {
    for (int i = 0; i < 25; ++i) calls.add(call("ModelInfer", "UNAVAILABLE"));
    now_ += std::chrono::milliseconds(999);
    calls.tick();
    calls.add(call("ModelInfer", "UNAVAILABLE"));
    now_ += std::chrono::milliseconds(1);
    for (int i = 0; i < 12; ++i) calls.add(call("ModelInfer", "UNAVAILABLE"));
  });
  ASSERT_EQ(lines.size(), 10 + 1 + 10 + 1U);
  const std::string notice = R"("message":"calls without a line each","method":"ModelInfer","code":"UNAVAILABLE",)";
  EXPECT_THAT(lines[10], HasSubstr(notice + R"("count":16)"));
  EXPECT_THAT(lines[21], HasSubstr(notice + R"("count":2)")) << "at the end";
}

TEST_F(CallLogTest, MethodsAndCodesAreCountedApart) {
  const Lines lines = lines_of([](CallLog& calls) {
    for (const char* method : {"ModelInfer", "Volumes"}) {
      for (const char* code : {"UNAVAILABLE", "INVALID_ARGUMENT"}) {
        for (int i = 0; i < 10; ++i) calls.add(call(method, code));
      }
    }
  });
  EXPECT_EQ(lines.size(), 40U);
}

TEST_F(CallLogTest, ATickWritesCountsOfSecondsThatAreOver) {
  const Lines lines = lines_of([this](CallLog& calls) {
    for (int i = 0; i < 11; ++i) calls.add(call("ModelInfer", "UNAVAILABLE"));
    now_ += std::chrono::seconds(1);
    calls.tick();
    calls.tick();
    calls.add(call("Outlook", "OK"));
  });
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_THAT(lines[10], HasSubstr(R"("count":1)"));
  EXPECT_THAT(lines[11], HasSubstr("Outlook"));
}

TEST_F(CallLogTest, ManyThreadsMayAdd) {
  const Lines lines = lines_of([](CallLog& calls) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&calls] {
        for (int j = 0; j < 100; ++j) calls.add(call("ModelInfer", "UNAVAILABLE"));
      });
    }
  });
  EXPECT_EQ(count_lines(lines, R"("message":"call")"), 10);
  EXPECT_EQ(count_lines(lines, R"("count":390)"), 1);
}

}  // namespace
}  // namespace znni
