#include "planner/base/memory_limit.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr MachineMemory machine{4 * gib, 5 * gib};

TEST(ChooseMemoryLimit, TheCommandLineComesBeforeTheEnvironmentAndThatBeforeTheMachine) {
  EXPECT_EQ(choose_memory_limit(gib, "2G", machine)->bytes, gib);
  EXPECT_EQ(choose_memory_limit(std::nullopt, "2G", machine)->bytes, 2 * gib);
  EXPECT_EQ(choose_memory_limit(std::nullopt, nullptr, machine)->bytes, 4 * gib);
  EXPECT_EQ(choose_memory_limit(std::nullopt, "", machine)->bytes, 4 * gib);
}

TEST(ChooseMemoryLimit, WhatFitsIsGivenWithoutAWord) {
  EXPECT_EQ(choose_memory_limit(std::nullopt, "5G", machine)->bytes, 5 * gib);
  EXPECT_EQ(choose_memory_limit(std::nullopt, "5G", machine)->warning, "");
  EXPECT_EQ(choose_memory_limit(std::nullopt, nullptr, machine)->warning, "");
}

TEST(ChooseMemoryLimit, MoreThanThereIsBecomesThePresetAndIsSaid) {
  const Result<MemoryLimit> flag = choose_memory_limit(6 * gib, nullptr, machine);
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->bytes, 4 * gib);
  EXPECT_EQ(flag->warning, "--mem is 6.00 GiB, but this process may use 5.00 GiB at most: 4.00 GiB is used");
  const Result<MemoryLimit> environment = choose_memory_limit(std::nullopt, "1T", machine);
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->bytes, 4 * gib);
  EXPECT_EQ(environment->warning.rfind("ZNNI_MEM is 1.00 TiB, ", 0), 0U) << environment->warning;
}

TEST(ChooseMemoryLimit, NothingIsTooMuchWhereTheMachineDoesNotSay) {
  EXPECT_EQ(choose_memory_limit(6 * gib, nullptr, {0, 0})->bytes, 6 * gib);
}

TEST(ChooseMemoryLimit, ATextThatIsNoSizeIsRefusedByItsName) {
  const Result<MemoryLimit> wrong = choose_memory_limit(std::nullopt, "lots", machine);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(wrong.error().message.rfind("ZNNI_MEM: size 'lots'", 0), 0U) << wrong.error().message;
}

}  // namespace
}  // namespace znni
