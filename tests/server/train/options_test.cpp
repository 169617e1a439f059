#include "server/train/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace znni::train {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Command parsed_train(std::vector<const char*> more) {
  std::vector<const char*> arguments = {"--model", "net.onnx", "--config", "train.pbtxt", "--output", "models/net"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse_options(arguments, "znni-train 1");
}

TEST(TrainOptions, TheLeast) {
  const Command command = parsed_train({});
  EXPECT_EQ(command.exit_code, std::nullopt) << command.text;
  EXPECT_EQ(command.options.model, "net.onnx");
  EXPECT_EQ(command.options.config, "train.pbtxt");
  EXPECT_EQ(command.options.output, "models/net");
  EXPECT_EQ(command.options.memory, std::nullopt);
  EXPECT_EQ(command.options.threads, std::nullopt);
  EXPECT_FALSE(command.options.restart);
  EXPECT_FALSE(command.options.explain);
}

TEST(TrainOptions, All) {
  const Options options = parsed_train({"--mem", "4G", "--threads", "3", "--restart", "--explain"}).options;
  EXPECT_EQ(options.memory, std::int64_t{4} << 30);
  EXPECT_EQ(options.threads, 3);
  EXPECT_TRUE(options.restart);
  EXPECT_TRUE(options.explain);
  EXPECT_EQ(parsed_train({"--resume"}).exit_code, std::nullopt);
}

TEST(TrainOptions, WrongOnesEndInOneLine) {
  for (const auto& wrong : std::vector<std::vector<const char*>>{
           {"--mem", "much"}, {"--threads", "0"}, {"--resume", "--restart"}, {"--rate", "1"}}) {
    const Command command = parsed_train(wrong);
    EXPECT_EQ(command.exit_code, exit_wrong_use);
    EXPECT_THAT(command.text, StartsWith("znni-train: "));
    EXPECT_THAT(command.text, HasSubstr(wrong[0]));
  }
  const Command missing = parse_options({}, "");
  EXPECT_EQ(missing.exit_code, exit_wrong_use);
}

TEST(TrainOptions, HelpAndVersion) {
  EXPECT_THAT(parsed_train({"--help"}).text, HasSubstr("--output"));
  EXPECT_EQ(parsed_train({"--version"}).exit_code, 0);
  EXPECT_EQ(parsed_train({"--version"}).text, "znni-train 1\n");
}

}  // namespace
}  // namespace znni::train
