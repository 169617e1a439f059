#include "planner/program/answer_options.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

TEST(PlannerAnswerOptions, OneMachineIsPlannedFor) {
  EXPECT_EQ(good({"--model", "x", "--machine", "m=2.pbtxt"}).machine, "m=2.pbtxt");
  EXPECT_TRUE(good({"--model", "x", "--machine", "m"}).priced.empty());
  EXPECT_EQ(good({"primitives", "--machine", "m"}).machine, "m");
}

TEST(PlannerAnswerOptions, ACurveIsARangeOfLimits) {
  EXPECT_FALSE(good({"--model", "x"}).curve);
  const PlannerOptions options =
      good({"--model", "x", "--mem", "3G", "--curve", "1G..256G", "--json", "--machine", "m"});
  EXPECT_EQ(options.curve, (MemoryRange{std::int64_t{1} << 30, std::int64_t{1} << 38}));
  EXPECT_EQ(options.memory, std::int64_t{3} << 30);
  EXPECT_EQ(options.machine, "m");
}

TEST(PlannerAnswerOptions, APriceListIsOfMachinesWithTheirPrices) {
  const PlannerOptions options = good({"--model", "x", "--machine", "a.pbtxt=2.50", "--machine", "b=c.pbtxt=0.1",
                                       "--price", "--volume", "10,20,30", "--within", "24h", "--json"});
  EXPECT_EQ(options.priced, (std::vector<PricedMachine>{{"a.pbtxt", 2.5}, {"b=c.pbtxt", 0.1}}));
  EXPECT_EQ(options.machine, "");
  EXPECT_EQ(options.within, 86400);
  EXPECT_TRUE(options.any_strategy);
  EXPECT_FALSE(good({"--model", "x", "--price", "--machine", "a=1", "--strategy", "cpu"}).any_strategy);
  EXPECT_EQ(good({"--model", "x", "--price", "--machine", "a=1", "--strategy", "gpu"}).split, SplitStrategy::gpu);
}

TEST(PlannerAnswerOptions, AStepOfTrainingIsOfOnePatch) {
  EXPECT_FALSE(good({"--model", "x"}).train);
  const PlannerOptions options = good({"--model", "x", "--train", "--patch", "80", "--mem", "8G", "--explain"});
  EXPECT_TRUE(options.train);
  EXPECT_TRUE(good({"--model", "x", "--train", "--patch", "80", "--machine", "m"}).train);
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
      {{"--model", "x", "--curve", "1G..2G", "--price", "--machine", "a=1"}, "--curve and --price exclude"},
      {{"--model", "x", "--price"}, "--price compares machines: give --machine FILE=DOLLARS_PER_HOUR"},
      {{"--model", "x", "--price", "--machine", "a"}, "--machine 'a': with --price write FILE=DOLLARS_PER_HOUR"},
      {{"--model", "x", "--price", "--machine", "a="}, "--machine 'a=': with --price"},
      {{"--model", "x", "--price", "--machine", "=2"}, "--machine '=2': with --price"},
      {{"--model", "x", "--price", "--machine", "a=0"}, "--machine 'a=0': with --price"},
      {{"--model", "x", "--price", "--machine", "a=-1"}, "--machine 'a=-1': with --price"},
      {{"--model", "x", "--price", "--machine", "a=nan"}, "--machine 'a=nan': with --price"},
      {{"--model", "x", "--price", "--machine", "a=inf"}, "--machine 'a=inf': with --price"},
      {{"--model", "x", "--price", "--machine", "a=2$"}, "--machine 'a=2$': with --price"},
      {{"--price", "--machine", "a=1"}, "--price is for one model: give --model FILE"},
      {{"--model", "x", "--price", "--machine", "a=1", "--explain"}, "--price prints no plan"},
      {{"--model", "x", "--price", "--machine", "a=1", "--threads", "2"}, "--threads and --machine exclude"},
      {{"--model", "x", "--price", "--machine", "a=1", "--patience", "measure"}, "--price measures nothing"},
      {{"show", "x", "--price", "--machine", "a=1"}, "--price is for planning"},
      {{"--model", "x", "--within", "24h"}, "--within is of a price list: it goes with --price"},
      {{"--model", "x", "--price", "--machine", "a=1", "--within", "24h"}, "give --volume Z,Y,X"},
      {{"--model", "x", "--price", "--machine", "a=1", "--volume", "9,9,9", "--within", "soon"},
       "--within: time 'soon'"},
      {{"--model", "x", "--sparse"}, "--sparse is of a step of training: give --train"},
      {{"--train", "--patch", "8"}, "--train is for one model"},
      {{"draw", "--model", "x", "--train", "--patch", "8"}, "--train is for planning"},
      {{"--model", "x", "--train", "--patch", "8", "--S", "2"}, "of pins it takes --patch alone, not --S 2"},
      {{"--model", "x", "--train", "--patch", "8", "--curve", "1G..2G"}, "--train and --curve or --price exclude"},
      {{"--model", "x", "--train", "--patch", "8", "--strategy", "baseline"}, "leave out --strategy"},
      {{"--model", "x", "--train", "--patch", "8", "--precision", "bf16"}, "leave out --precision"},
      {{"--model", "x", "--train", "--patch", "8", "--strategy", "gpu"}, "leave out --strategy"},
      {{"--model", "x", "--train", "--patch", "8", "--volume", "9,9,9"}, "leave out --volume"},
      {{"--model", "x", "--train", "--patch", "8", "--force", "a=b"}, "leave out --force"},
      {{"--model", "x", "--train", "--patch", "8", "--json"}, "--train prints text"},
      {{"--model", "x", "--train", "--patch", "8", "--output", "y"}, "--train prints text"},
      {{"--model", "x", "--train", "--patch", "8", "--patience", "measure"}, "--train measures nothing"},
  };
  for (const auto& [arguments, named] : cases) {
    const std::string line = refused(arguments);
    EXPECT_NE(line.find(named), std::string::npos) << named << " is not in: " << line;
  }
}

}  // namespace
}  // namespace znni
