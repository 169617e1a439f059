#include "planner/answer_options.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

TEST(PlannerAnswerOptions, OneMachineIsPlannedFor) {
  EXPECT_EQ(good({"--model", "x", "--machine", "m=2.pbtxt"}).machine, "m=2.pbtxt");
  EXPECT_EQ(good({"primitives", "--machine", "m"}).machine, "m");
}

TEST(PlannerAnswerOptions, ACurveIsARangeOfLimits) {
  EXPECT_FALSE(good({"--model", "x"}).curve);
  const PlannerOptions options =
      good({"--model", "x", "--mem", "3G", "--curve", "1G..256G", "--json", "--machine", "m"});
  EXPECT_EQ(options.curve, (ByteRange{std::int64_t{1} << 30, std::int64_t{1} << 38}));
  EXPECT_EQ(options.memory, std::int64_t{3} << 30);
  EXPECT_EQ(options.machine, "m");
}

TEST(PlannerAnswerOptions, WrongUseNamesWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--model", "x", "--machine", "a", "--machine", "b"}, "--machine is given 2 times: a plan is for one machine"},
      {{"--model", "x", "--curve", "1G"}, "--curve: range '1G' is not understood: write two sizes"},
      {{"--model", "x", "--curve", "2G..1G"}, "--curve: range '2G..1G' is empty"},
      {{"--model", "x", "--curve", "1G..lots"}, "--curve: size 'lots'"},
      {{"--curve", "1G..2G"}, "--curve is for one model: give --model FILE"},
      {{"--model-repository", "x", "--curve", "1G..2G"}, "--curve is for one model"},
      {{"measure", "--model", "x", "--curve", "1G..2G"}, "--curve is for planning"},
      {{"--model", "x", "--curve", "1G..2G", "--explain"}, "--curve prints no plan"},
      {{"--model", "x", "--curve", "1G..2G", "--output", "y"}, "--curve prints no plan"},
      {{"--model", "x", "--curve", "1G..2G", "--report", "y"}, "--curve prints no plan"},
      {{"--model", "x", "--curve", "1G..2G", "--k8s-resources"}, "--curve prints no plan"},
      {{"--model", "x", "--curve", "1G..2G", "--patience", "measure"}, "--curve measures nothing"},
  };
  for (const auto& [arguments, named] : cases) {
    const std::string line = refused(arguments);
    EXPECT_NE(line.find(named), std::string::npos) << named << " is not in: " << line;
  }
}

}  // namespace
}  // namespace znni
