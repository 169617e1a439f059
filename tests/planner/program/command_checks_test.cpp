#include "planner/program/command_checks.hpp"

#include <gtest/gtest.h>

#include "tests/planner/parsed_options.hpp"

namespace znni {
namespace {

using test::good;
using test::refused;

// Returns the refusal of options that `change` sets; "" if they go with the command.
template <class Change>
std::string refusal(Command command, Change change) {
  PlannerOptions options;
  options.command = command;
  change(options);
  const Result<void> sound = check_options_of_command(options);
  return sound ? "" : sound.error().message;
}

TEST(PlannerCommandChecks, ACheckTakesAFileAndMakesNoPlan) {
  EXPECT_EQ(refusal(Command::check, [](auto&) {}), "");
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.json = true; }), "");
  const std::string one_file = "check takes one file, planner check FILE: leave out --model and --model-repository";
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.model = "x"; }), one_file);
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.model_repository = "x"; }), one_file);
  const std::string no_plan = "check makes no plan: no --explain, --k8s-resources, --output or --report";
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.output = "x"; }), no_plan);
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.report = "x"; }), no_plan);
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.explain = true; }), no_plan);
  EXPECT_EQ(refusal(Command::check, [](auto& options) { options.k8s_resources = true; }), no_plan);
}

TEST(PlannerCommandChecks, EachCommandHasItsOwn) {
  const auto with_output = [](auto& options) { options.output = "x"; };
  EXPECT_EQ(refusal(Command::draw, with_output), "draw needs --model FILE and --output DIR");
  EXPECT_EQ(refusal(Command::measure, with_output), "measure writes timings and no plan: leave out --output");
  EXPECT_EQ(refusal(Command::show, with_output),
            "show predicts a plan again with both --model FILE and --timings FILE");
  EXPECT_EQ(refusal(Command::diff, with_output), "");
  EXPECT_EQ(refusal(Command::primitives, with_output), "");
}

TEST(PlannerCommandChecks, WeightsAreThoseOfANamedNetwork) {
  EXPECT_EQ(good({"--model", "n.prototxt", "--weights", "w"}).weights, "w");
  EXPECT_EQ(good({"check", "n.prototxt", "--weights", "w"}).weights, "w");
  const std::string wrong = "--weights w: the numbers of a .prototxt; name that, too";
  EXPECT_EQ(refused({"check", "n.onnx", "--make-valid", "--weights", "w"}), wrong);
  EXPECT_EQ(refused({"measure", "--weights", "w"}), wrong + ": --model FILE.prototxt");
  EXPECT_EQ(refused({"--model", "n.onnx", "--weights", "w"}), wrong + ": --model FILE.prototxt");
  EXPECT_EQ(refused({"--model-repository", "r", "--weights", "w"}), wrong + ": --model FILE.prototxt");
}

TEST(PlannerCommandChecks, ShowPrintsText) {
  const std::string text =
      "show prints a plan as text: no --json, --explain, --k8s-resources or --report; planner --model FILE has them";
  EXPECT_EQ(refusal(Command::show, [](auto&) {}), "");
  EXPECT_EQ(refusal(Command::show, [](auto& options) { options.json = true; }), text);
  EXPECT_EQ(refusal(Command::show, [](auto& options) { options.explain = true; }), text);
  EXPECT_EQ(refusal(Command::show, [](auto& options) { options.k8s_resources = true; }), text);
  EXPECT_EQ(refusal(Command::show, [](auto& options) { options.report = "x"; }), text);
}

DeviceSpec device_with(const char* name, double bf16_flops_per_second) {
  DeviceSpec spec;
  spec.name = name;
  spec.accelerator.bf16_flops_per_second = bf16_flops_per_second;
  return spec;
}

TEST(PlannerCommandChecks, Bf16IsOfADeviceThatHasIt) {
  PlannerOptions options;
  const auto refusal_of = [&](const DeviceSpec& cpu, const DeviceSpec* gpu) {
    const Result<void> sound = check_precision(options, cpu, gpu);
    return sound ? "" : sound.error().message;
  };
  const DeviceSpec strict = device_with("old", 0);
  const DeviceSpec coarse = device_with("new", 1e12);
  EXPECT_EQ(refusal_of(strict, nullptr), "");
  options.precision = Precision::bf16;
  EXPECT_EQ(refusal_of(coarse, nullptr), "");
  EXPECT_EQ(refusal_of(strict, &coarse), "");
  EXPECT_EQ(refusal_of(strict, nullptr), "--precision bf16: old lacks AVX512_BF16; leave out --precision");
  EXPECT_EQ(refusal_of(strict, &strict),
            "--precision bf16: old lacks AVX512_BF16, and old has no rate for it; leave out --precision");
  for (const Command command : {Command::show, Command::primitives}) {
    options.command = command;
    EXPECT_EQ(refusal_of(strict, nullptr), "") << "it searches nothing";
  }
}

}  // namespace
}  // namespace znni
