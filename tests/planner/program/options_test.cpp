#include "planner/program/options.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

TEST(PlannerCommandLine, Defaults) {
  const PlannerOptions options = good({"--model", "net.onnx"});
  EXPECT_EQ(options.command, Command::plan);
  EXPECT_EQ(options.model, "net.onnx");
  EXPECT_FALSE(options.memory);
  EXPECT_FALSE(options.threads);
  EXPECT_FALSE(options.volume);
  EXPECT_EQ(options.patience, Patience::recorded);
  EXPECT_EQ(options.strategy, Strategy::cpu);
  EXPECT_EQ(options.time_limit, 600);
  EXPECT_EQ(options.command_line, "planner --model net.onnx");
}

TEST(PlannerCommandLine, EveryFlag) {
  const PlannerOptions options = good({"--model",      "n.pbtxt",
                                       "--mem",        "1.5T",
                                       "--threads",    "7",
                                       "--volume",     "10,20,30",
                                       "--patience",   "measure",
                                       "--time-limit", "90s",
                                       "--timings",    "t.pbtxt",
                                       "--enable",     "cpu.conv.*,cpu.pool.mpf",
                                       "--disable",    "cpu.conv.direct",
                                       "--force",      "conv1=cpu.conv.onednn",
                                       "--force",      "3=cpu.pool.mpf",
                                       "--strategy",   "baseline",
                                       "--output",     "p.pbtxt",
                                       "--explain",    "--json",
                                       "--report",     "r.html",
                                       "--plugin",     "a.so",
                                       "--plugin",     "b.so",
                                       "--precision",  "fp32"});
  EXPECT_EQ(*options.memory, std::int64_t{3} << 39);
  EXPECT_EQ(*options.threads, 7);
  EXPECT_EQ(*options.volume, (Vec3{10, 20, 30}));
  EXPECT_EQ(options.patience, Patience::measure);
  EXPECT_EQ(options.time_limit, 90);
  EXPECT_EQ(options.timings, "t.pbtxt");
  EXPECT_EQ(options.enable, (std::vector<std::string>{"cpu.conv.*", "cpu.pool.mpf"}));
  EXPECT_EQ(options.disable, std::vector<std::string>{"cpu.conv.direct"});
  EXPECT_EQ(options.force, (std::map<std::string, std::string>{{"conv1", "cpu.conv.onednn"}, {"3", "cpu.pool.mpf"}}));
  EXPECT_EQ(options.strategy, Strategy::baseline);
  EXPECT_EQ(options.output, "p.pbtxt");
  EXPECT_EQ(options.report, "r.html");
  EXPECT_EQ(options.plugins, (std::vector<std::string>{"a.so", "b.so"}));
  EXPECT_TRUE(options.explain);
  EXPECT_TRUE(options.json);
}

TEST(PlannerCommandLine, Commands) {
  EXPECT_EQ(good({"show", "a.pbtxt"}).files, std::vector<std::string>{"a.pbtxt"});
  EXPECT_EQ(good({"show", "a.pbtxt"}).command, Command::show);
  EXPECT_EQ(good({"check", "net.onnx"}).files, std::vector<std::string>{"net.onnx"});
  EXPECT_EQ(good({"check", "net.onnx"}).command, Command::check);
  EXPECT_TRUE(good({"check", "net.onnx", "--json"}).json);
  EXPECT_EQ(good({"diff", "a", "b"}).files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(good({"diff", "a", "b"}).command, Command::diff);
  EXPECT_EQ(good({"primitives"}).command, Command::primitives);
  EXPECT_EQ(good({"primitives", "--disable", "cpu.add"}).disable, std::vector<std::string>{"cpu.add"});
  const PlannerOptions measure = good({"measure", "--model", "x", "--mem", "2G"});
  EXPECT_EQ(measure.command, Command::measure);
  EXPECT_EQ(measure.patience, Patience::measure);
  EXPECT_EQ(*measure.memory, std::int64_t{2} << 30);
  EXPECT_EQ(measure.time_limit, 600);
  EXPECT_EQ(good({"measure"}).time_limit, 105);
  EXPECT_EQ(good({"--model", "x", "--machine", "m.pbtxt"}).machine, "m.pbtxt");
}

TEST(PlannerCommandLine, DrawsPlansIntoADirectory) {
  const PlannerOptions few = good({"draw", "--model", "x", "--output", "plans"});
  EXPECT_EQ(few.command, Command::draw);
  EXPECT_EQ(few.draw.count, 40U);
  EXPECT_EQ(few.draw.max_seconds, 60);
  EXPECT_EQ(few.neighbours, 0U);
  const PlannerOptions more = good({"draw", "--model", "x", "--output", "plans", "--count", "7", "--neighbours", "3",
                                    "--seed", "9", "--most-seconds", "2m", "--mem", "4G"});
  EXPECT_EQ(more.draw.count, 7U);
  EXPECT_EQ(more.draw.seed, 9U);
  EXPECT_EQ(more.draw.max_seconds, 120);
  EXPECT_EQ(more.neighbours, 3U);
  EXPECT_EQ(*more.memory, std::int64_t{4} << 30);
}

TEST(PlannerCommandLine, Outputs) {
  EXPECT_TRUE(good({"--model", "net.onnx"}).outputs.empty());
  EXPECT_EQ(good({"--model", "net.onnx", "--outputs", "a,b"}).outputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(good({"check", "net.onnx", "--outputs", "a"}).outputs, std::vector<std::string>{"a"});
  const PlannerOptions first = good({"check", "--outputs", "a,b", "net.onnx"});
  EXPECT_EQ(first.outputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(first.files.front(), "net.onnx");
}

TEST(PlannerCommandLine, ARepository) {
  const PlannerOptions options = good({"--mem", "1G", "--model-repository", "models", "--plan-dir", "plans"});
  EXPECT_EQ(options.model_repository, "models");
  EXPECT_EQ(options.plan_dir, "plans");
}

TEST(PlannerCommandLine, GpuFlagsGoWithStrategiesOfAGpu) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--gpu-mem", "12G"}, {"--pinned-mem", "1G"}, {"--machine", "m", "--gpu-mem", "12G"}}) {
    std::vector<std::string> arguments = {"--model", "x"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_NE(refused(arguments).find("goes with --strategy gpu"), std::string::npos);
  }
  const PlannerOptions here = good({"--model", "x", "--strategy", "cpu-gpu", "--gpu-mem", "12G", "--plugin", "a.so"});
  EXPECT_EQ(here.split, SplitStrategy::cpu_gpu);
  EXPECT_EQ(here.gpu_memory, std::int64_t{12} << 30);
}

TEST(PlannerCommandLine, PrecisionIsOfPlans) {
  EXPECT_EQ(good({"--model", "x", "--strategy", "gpu"}).precision, Precision::fp32);
  EXPECT_EQ(good({"--model", "x"}).precision, Precision::fp32);
  EXPECT_EQ(good({"--model", "x", "--precision", "bf16"}).precision, Precision::bf16);
  EXPECT_EQ(good({"--model", "x", "--strategy", "gpu", "--precision", "tf32"}).precision, Precision::tf32);
  const PlannerOptions machine =
      good({"--model", "x", "--machine", "m", "--strategy", "cpu-gpu", "--precision", "bf16"});
  EXPECT_EQ(machine.precision, Precision::bf16);
}

TEST(PlannerCommandLine, PinsAreRead) {
  EXPECT_EQ(good({"--model", "x"}).pins, Pins());
  const PlannerOptions all = good({"--model", "x", "--strategy", "cpu-gpu", "--patch", "88,288,280", "--theta", "4",
                                   "--modes", "max,mpf:1x2x1:recompute", "--S", "3", "--no-stream", "--no-groups"});
  EXPECT_EQ(to_string(all.pins),
            "--patch 88,288,280 --theta 4 --modes max,mpf:1x2x1:recompute --S 3 --no-stream --no-groups");
  EXPECT_EQ(good({"--model", "x", "--patch", "64"}).pins.patch, Vec3::cube(64));
  EXPECT_FALSE(good({"--model-repository", "x", "--no-stream"}).pins.streams);
  EXPECT_EQ(good({"measure", "--model", "x", "--S", "2"}).pins.S, 2);
}

TEST(PlannerCommandLine, WrongUseNamesWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "--model"},
      {{"--mode", "x"}, "--mode"},
      {{"--model", "x", "stray"}, "stray"},
      {{"--model"}, "--model"},
      {{"--model", "x", "--mem", "lots"}, "--mem: size 'lots'"},
      {{"--model", "x", "--mem", "0"}, "--mem"},
      {{"--model", "x", "--threads", "0"}, "--threads 0"},
      {{"--model", "x", "--threads", "two"}, "two"},
      {{"--model", "x", "--volume", "3,4"}, "--volume"},
      {{"--model", "x", "--time-limit", "-1s"}, "--time-limit"},
      {{"--model", "x", "--patience", "none"}, "--patience 'none'"},
      {{"--model", "x", "--strategy", "fast"}, "--strategy 'fast'"},
      {{"--model", "x", "--force", "conv1"}, "--force 'conv1'"},
      {{"--model", "x", "--force", "=b"}, "--force '=b'"},
      {{"--model", "x", "--precision", "tf32"}, "--precision tf32: primitives of the CPU compute in fp32 or bf16"},
      {{"--model", "x", "--machine", "m", "--precision", "tf32"}, "--precision tf32: primitives of the CPU"},
      {{"--model", "x", "--strategy", "gpu", "--precision", "fp16"}, "--precision 'fp16': write fp32, tf32 or bf16"},
      {{"--model", "x", "--patch", "3,4"}, "--patch '3,4': write"},
      {{"--model", "x", "--patch", "0"}, "--patch '0': write"},
      {{"--model", "x", "--modes", "avg"}, "--modes 'avg': write"},
      {{"--model", "x", "--S", "0"}, "--S '0': write"},
      {{"--model", "x", "--S", "two"}, "--S 'two': write"},
      {{"--model", "x", "--theta", "3"}, "--theta 3: "},
      {{"--model-repository", "x", "--patch", "64", "--no-stream"}, "--patch 64: pins of one model"},
      {{"show", "x", "--S", "2"}, "--S 2: pins are for planning"},
      {{"measure", "--no-groups"}, "--no-groups: pins are for planning"},
      {{"--model", "x", "--model-repository", "y"}, "exclude"},
      {{"--model", "x", "--plan-dir", "y"}, "--plan-dir"},
      {{"--model-repository", "y", "--json"}, "--json"},
      {{"--model-repository", "y", "--outputs", "a"}, "--outputs is for one model"},
      {{"--model-repository", "y", "--k8s-resources"}, "--k8s-resources"},
      {{"--model", "x", "--json", "--k8s-resources"}, "exclude"},
      {{"--model", "x", "--machine", "m", "--threads", "2"}, "--threads and --machine"},
      {{"--model", "x", "--machine", "m", "--patience", "measure"}, "--machine"},
      {{"measure", "--machine", "m"}, "--machine"},
      {{"--model-repository", "y", "--report", "r.html"}, "--report"},
      {{"--model-repository", "y", "--machine", "m", "--strategy", "gpu"}, "--strategy gpu is for one model"},
      {{"--model", "x", "--strategy", "gpu", "--force", "a=b"}, "--force is of CPU plans; --strategy gpu takes"},
      {{"--model", "x", "--strategy", "gpu", "--patience", "measure"}, "not for --strategy gpu"},
      {{"measure", "--model", "x", "--strategy", "cpu-gpu"}, "not for --strategy cpu-gpu"},
      {{"measure", "--model-repository", "y"}, "leave out --model-repository"},
      {{"measure", "--model", "x", "--output", "p"}, "measure writes timings and no plan: leave out --output"},
      {{"measure", "--output", "p"}, "measure writes timings and no plan: leave out --output"},
      {{"draw", "--model", "x"}, "--output DIR"},
      {{"draw", "--output", "x"}, "--model FILE"},
      {{"draw", "--model", "x", "--output", "y", "--json"}, "--json"},
      {{"draw", "--model", "x", "--output", "y", "--machine", "m"}, "--machine"},
      {{"draw", "--model", "x", "--output", "y", "--count", "-1"}, "--count"},
      {{"draw", "--model", "x", "--output", "y", "--max-seconds", "soon"}, "--max-seconds"},
      {{"show"}, "PLAN"},
      {{"show", "a", "--timings", "t"}, "--model FILE"},
      {{"show", "a", "--model", "m", "--output", "o"}, "--timings FILE"},
      {{"show", "a", "--model", "m", "--timings", "t", "--patience", "model"}, "leave out --patience model"},
      {{"check"}, "FILE"},
      {{"check", ""}, "FILE: an empty name found"},
      {{"show", ""}, "FILE: an empty name found"},
      {{"diff", "a", ""}, "FILE: an empty name found"},
      {{"check", "a", "--S", "2"}, "--S 2: pins are for planning"},
      {{"diff", "a"}, "B"},
      {{"show", "a", "b"}, "b"},
  };
  for (const auto& [arguments, named] : cases) {
    const std::string line = refused(arguments);
    EXPECT_NE(line.find(named), std::string::npos) << named << " is not in: " << line;
  }
}

TEST(PlannerCommandLine, AMachineOfAFileMayHaveAGpu) {
  const PlannerOptions options = good({"--model", "x", "--machine", "m", "--strategy", "cpu-gpu", "--gpu-mem", "12G"});
  EXPECT_EQ(options.split, SplitStrategy::cpu_gpu);
  EXPECT_EQ(options.gpu_memory, std::int64_t{12} << 30);
  EXPECT_FALSE(options.pinned_memory);
  EXPECT_NE(refused({"--model", "x", "--machine", "m", "--strategy", "gpu", "--k8s-resources"}).find("CPUs"),
            std::string::npos);
  EXPECT_TRUE(good({"--model", "x", "--machine", "m", "--strategy", "gpu", "--json", "--explain"}).explain);
  EXPECT_NE(refused({"--model", "x", "--strategy", "gpu", "--gpu-mem", "much"}).find("--gpu-mem: size 'much'"),
            std::string::npos);
}

TEST(PlannerCommandLine, AValidFormIsToldOrWritten) {
  EXPECT_FALSE(good({"check", "a.onnx"}).valid_output);
  EXPECT_EQ(good({"check", "a.onnx", "--make-valid"}).valid_output, "");
  EXPECT_EQ(good({"check", "a.onnx", "--make-valid", "--json"}).valid_output, "");
  const PlannerOptions written = good({"check", "a.onnx", "--make-valid", "b.onnx"});
  EXPECT_EQ(written.valid_output, "b.onnx");
  EXPECT_EQ(written.files, std::vector<std::string>{"a.onnx"});
  EXPECT_EQ(good({"check", "--make-valid", "b.onnx", "a.onnx"}).valid_output, "b.onnx");
  EXPECT_EQ(good({"check", "--make-valid", "a.onnx"}).valid_output, "");  // the only name is that of the network
  EXPECT_NE(refused({"check", "--make-valid"}).find("FILE"), std::string::npos);
  EXPECT_NE(refused({"--model", "a.onnx", "--make-valid"}).find("--make-valid"), std::string::npos);
}

TEST(PlannerCommandLine, HelpEndsWell) {
  const auto parsed = parse_options({"--help"}, "");
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->exit_code, 0);
  for (const char* flag :
       {"--mem", "--volume", "--patience", "--explain", "--json", "check", "show", "diff", "measure", "primitives",
        "--patch 88,288,280", "--theta 4", "--modes max,mpf", "--S 2", "--no-stream", "--no-groups"}) {
    EXPECT_NE(end->text.find(flag), std::string::npos) << flag;
  }
}

TEST(PlannerCommandLine, VersionEndsWell) {
  const auto parsed = parse_options({"--version"}, "planner 1.2.3\nnotice");
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->text, "planner 1.2.3\nnotice\n");
}

TEST(PlannerCommandLine, ExitCodes) {
  EXPECT_EQ(exit_code(ErrorCode::invalid_argument), 2);
  EXPECT_EQ(exit_code(ErrorCode::not_found), 2);
  EXPECT_EQ(exit_code(ErrorCode::over_budget), 3);
  EXPECT_EQ(exit_code(ErrorCode::cancelled), 130);
  EXPECT_EQ(exit_code(ErrorCode::device_failure), 1);
}

}  // namespace
}  // namespace znni
