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

LayerOptions layer(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_EQ(end, nullptr) << end->text;
  return end == nullptr ? std::get<LayerOptions>(parsed) : LayerOptions{};
}

TrainOptions train(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_EQ(end, nullptr) << end->text;
  return end == nullptr ? std::get<TrainOptions>(parsed) : TrainOptions{};
}

EarlyEnd ended(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments);
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_NE(end, nullptr);
  return end == nullptr ? EarlyEnd{} : *end;
}

TEST(BenchOptions, EveryOptionIsRead) {
  const NetOptions options = good({"net", "--plan", "p.pbtxt", "--model", "n.onnx", "--mem", "1.5G", "--threads", "3",
                                   "--repetitions", "7", "--limit", "2.5", "--json"});
  EXPECT_EQ(options.limit, 2.5);
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
                                                                     {{"--limit", "0"}, "--limit"},
                                                                     {{"--limit", "nan"}, "--limit"},
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

TEST(BenchOptions, EveryOptionOfALayerIsRead) {
  const LayerOptions options =
      layer({"layer", "--f",       "28", "--f-out",       "36", "--k",          "1,3,5", "--dilation",
             "2,4,1", "--n",       "32", "--S",           "8",  "--primitives", "a,b,c", "--mem",
             "2G",    "--threads", "3",  "--repetitions", "7",  "--json"});
  const ConvProblem problem{{8, 28, Vec3::cube(32)}, 36, {1, 3, 5}, {2, 4, 1}, Vec3::cube(1), {}};
  EXPECT_EQ(options.problem, problem);
  EXPECT_THAT(options.primitives, testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(options.memory, std::int64_t{2} << 30);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.repetitions, 7);
  EXPECT_TRUE(options.json);
}

TEST(BenchOptions, ALayerHasDefaults) {
  const LayerOptions options = layer({"layer", "--n", "16,24,32"});
  const ConvProblem problem{{1, 80, {16, 24, 32}}, 80, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_EQ(options.problem, problem);
  EXPECT_THAT(options.primitives, testing::ElementsAre("cpu.conv.fft_tiled", "cpu.conv.onednn"));
  EXPECT_EQ(options.threads, std::nullopt);
  EXPECT_EQ(options.repetitions, 5);
}

TEST(BenchOptions, AStepOfTrainingHasTheOptionsOfALayer) {
  const TrainOptions options =
      train({"layer",     "--train", "--f",           "28", "--f-out",      "36",   "--k",   "1,3,5",
             "--n",       "32",      "--S",           "8",  "--primitives", "a,b",  "--mem", "2G",
             "--threads", "3",       "--repetitions", "7",  "--json",       "--all"});
  const ConvProblem problem{{8, 28, Vec3::cube(32)}, 36, {1, 3, 5}, Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_EQ(options.problem, problem);
  EXPECT_THAT(options.primitives, testing::ElementsAre("a", "b"));
  EXPECT_EQ(options.memory, std::int64_t{2} << 30);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.repetitions, 7);
  EXPECT_TRUE(options.json);
  EXPECT_TRUE(options.all);
}

TEST(BenchOptions, AStepOfTrainingIsThePlannersUnlessPrimitivesAreNamed) {
  const TrainOptions options = train({"layer", "--train"});
  EXPECT_THAT(options.primitives, testing::IsEmpty());
  EXPECT_FALSE(options.all);
  EXPECT_EQ(options.problem.in.f, 80);
}

TEST(BenchOptions, WrongLayersEndWithOneLine) {
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--k", "3,3"}, "--k '3,3'"},
           {{"--k", "0"}, "--k '0'"},
           {{"--n", "big"}, "--n 'big'"},
           {{"--dilation", "0"}, "--dilation '0'"},
           {{"--n", "8", "--dilation", "4"}, "smaller than the window 9"},
           {{"--f", "0"}, "--f"},
           {{"--S", "-1"}, "--S"},
           {{"--n", "4", "--k", "5"}, "smaller than the window 5"},
           {{"--train", "--n", "4", "--k", "5"}, "smaller than the window 5"},
           {{"--train", "yes"}, "yes"},
           {{"--all"}, "--train"},
           {{"--mem", "lots"}, "--mem"}}) {
    std::vector<std::string> all = {"layer"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const EarlyEnd end = ended(all);
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_THAT(end.text, HasSubstr(part));
    EXPECT_EQ(std::count(end.text.begin(), end.text.end(), '\n'), 0) << end.text;
  }
}

TEST(BenchOptions, HelpListsTheFlags) {
  EXPECT_EQ(ended({"--help"}).exit_code, 0);
  EXPECT_THAT(ended({"--help"}).text, HasSubstr("--repetitions"));
}

}  // namespace
}  // namespace znni::bench
