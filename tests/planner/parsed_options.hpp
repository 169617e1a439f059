// Understands command lines of `planner`, or tells how they are refused.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "planner/program/options.hpp"

namespace znni::test {

inline PlannerOptions good(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments, "planner 1.2.3");
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_EQ(end, nullptr) << (end == nullptr ? "" : end->text);
  return end == nullptr ? std::get<PlannerOptions>(parsed) : PlannerOptions{};
}

// Returns the one line said, with exit code 2.
inline std::string refused(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options(arguments, "planner 1.2.3");
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  EXPECT_NE(end, nullptr);
  if (end == nullptr) return "";
  EXPECT_EQ(end->exit_code, 2);
  EXPECT_EQ(std::count(end->text.begin(), end->text.end(), '\n'), 0) << end->text;
  return end->text;
}

}  // namespace znni::test
