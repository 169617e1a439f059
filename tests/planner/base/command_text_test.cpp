#include "planner/base/command_text.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(PlannerCommandText, PlainArgumentsStandAsTheyAre) {
  EXPECT_EQ(command_text("planner", {}), "planner");
  EXPECT_EQ(command_text("planner", {"--model", "a/b.onnx", "--volume", "1,2,3", "--force", "c1=cpu.conv"}),
            "planner --model a/b.onnx --volume 1,2,3 --force c1=cpu.conv");
}

TEST(PlannerCommandText, WhatAShellWouldReadOtherwiseIsQuoted) {
  EXPECT_EQ(command_text("planner", {"my net.onnx", "cpu.*", "", "it's", "$HOME"}),
            "planner 'my net.onnx' 'cpu.*' '' 'it'\\''s' '$HOME'");
}

}  // namespace
}  // namespace znni
