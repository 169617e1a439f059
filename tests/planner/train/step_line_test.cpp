#include "planner/train/step_line.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

const Shape5 shape{1, 1, {1, 1, 16}};

StepCall call(std::vector<int> reads, int writes) {
  StepCall made;
  made.node = 0;
  const ActivationProblem problem{shape, {}};
  made.problem = LayerProblem(problem);
  made.estimate.memory = input_output_buffers(problem, {}, {}, 1);
  made.estimate.memory.push_back({"scratch", MemorySpace::host, 128, Lifetime::stages(1, 1)});
  made.estimate.memory.push_back({"kept", MemorySpace::host, 192, Lifetime::plan()});
  made.reads = std::move(reads);
  made.writes = writes;
  return made;
}

const Buffer& buffer_of(const StepLine& line, int tensor) {
  return line.memory()[static_cast<std::size_t>(line.tensors()[static_cast<std::size_t>(tensor)].buffer)];
}

TEST(StepLine, ATensorLivesFromTheCallThatWritesItToTheLastThatReadsIt) {
  StepLine line;
  for (const char* const name : {"input", "a", "b", "c"}) line.add_tensor(name, shape, {});
  line.bring(0);
  line.add(call({0}, 1));
  line.add(call({1}, 2));
  line.add(call({1}, 3));
  EXPECT_EQ(line.stages(), 6);
  EXPECT_EQ(buffer_of(line, 0).lifetime, Lifetime::stages(0, 1));
  EXPECT_EQ(buffer_of(line, 1).lifetime, Lifetime::stages(0, 5));
  EXPECT_EQ(buffer_of(line, 2).lifetime, Lifetime::stages(2, 3));
  line.keep(2);
  EXPECT_EQ(buffer_of(line, 2).lifetime, Lifetime::stages(2, 5));
}

TEST(StepLine, WhatALayerKeepsLivesInItsOwnStages) {
  StepLine line;
  for (const char* const name : {"input", "a", "b"}) line.add_tensor(name, shape, {});
  line.bring(0);
  line.add(call({0}, 1));
  line.add(call({1}, 2));
  const std::vector<int>& buffers = line.calls()[1].buffers;
  ASSERT_EQ(buffers.size(), 4U);
  EXPECT_EQ(line.memory()[static_cast<std::size_t>(buffers[2])].lifetime, Lifetime::stages(3, 3));
  EXPECT_EQ(line.memory()[static_cast<std::size_t>(buffers[3])].lifetime, Lifetime::stages(2, 3));
  EXPECT_EQ(line.calls()[1].first_stage, 2);
  EXPECT_EQ(persistent_bytes(line.memory()), 0);
}

TEST(StepLine, GradientsOfWeightsAreTheCallers) {
  StepLine line;
  line.add_tensor("input", shape, {});
  line.bring(0);
  line.add(call({0}, -1));
  EXPECT_EQ(line.calls()[0].buffers[1], -1);
}

TEST(StepLine, GradientsOfWeightsAreTheCallersBesideThatOfAnInput) {
  StepLine line;
  line.add_tensor("input", shape, {});
  line.add_tensor("output", shape, {});
  line.bring(0);
  StepCall both = call({0}, 1);
  both.estimate.memory.push_back({std::string(weights_gradient_name), MemorySpace::host, 64, Lifetime::stages(0, 0)});
  line.add(both);
  EXPECT_EQ(line.calls()[0].buffers.back(), -1);
  EXPECT_GE(line.calls()[0].buffers[1], 0);
}

TEST(StepLine, InputsAreKnownByTheirNames) {
  EXPECT_EQ(input_number("input 1", 2), 1);
  EXPECT_EQ(input_number("input 1", 1), -1);
  EXPECT_EQ(input_number("input transforms", 2), -1);
}

}  // namespace
}  // namespace znni
