#include "tests/bench/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace znni::bench {
namespace {

using testing::HasSubstr;

NetOptions good(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_EQ(end, nullptr) << end->text;
  return end == nullptr ? std::get<NetOptions>(parsed) : NetOptions{};
}

EarlyEnd ended(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_NE(end, nullptr);
  return end == nullptr ? EarlyEnd{} : *end;
}

TEST(BenchOptions, EveryOptionIsRead) {
  const NetOptions options = good({"net", "--plan", "p.pbtxt", "--model", "n.onnx", "--mem", "1.5G", "--threads", "3",
                                   "--repetitions", "7", "--json"});
  EXPECT_EQ(options.plan, "p.pbtxt");
  EXPECT_EQ(options.model, "n.onnx");
  EXPECT_EQ(options.memory, std::int64_t{3} << 29);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.repetitions, 7);
  EXPECT_TRUE(options.json);
}

TEST(BenchOptions, OnlyPlanAndModelMustBeGiven) {
  const NetOptions options = good({"net", "--plan", "p.pbtxt", "--model", "n.onnx"});
  EXPECT_EQ(options.memory, std::nullopt);
  EXPECT_EQ(options.threads, std::nullopt);
  EXPECT_EQ(options.repetitions, 3);
  EXPECT_FALSE(options.json);
}

TEST(BenchOptions, WrongUseEndsWithOneLine) {
  const std::vector<std::string> sound = {"net", "--plan", "p", "--model", "n"};
  for (const auto& [more, part] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"--mem", "lots"}, "--mem"},
                                                                     {{"--threads", "0"}, "--threads"},
                                                                     {{"--repetitions", "0"}, "--repetitions"},
                                                                     {{"stray"}, "stray"}}) {
    std::vector<std::string> arguments = sound;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const EarlyEnd end = ended(arguments);
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_THAT(end.text, HasSubstr(part));
    EXPECT_EQ(std::count(end.text.begin(), end.text.end(), '\n'), 0) << end.text;
  }
  EXPECT_EQ(ended({}).exit_code, 2);
  EXPECT_THAT(ended({"net", "--plan", "p"}).text, HasSubstr("--model"));
}

TEST(BenchOptions, HelpListsTheFlags) {
  EXPECT_EQ(ended({"--help"}).exit_code, 0);
  EXPECT_THAT(ended({"--help"}).text, HasSubstr("--repetitions"));
}

}  // namespace
}  // namespace znni::bench
