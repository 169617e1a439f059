#include "server/jobs/memory_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "planner/report/k8s_resources.hpp"
#include "server/jobs/model_server.hpp"
#include "tests/server/jobs/model_server_fixture.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

using test::mib;
constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::nullopt_t not_given = std::nullopt;

MemoryShares split(std::int64_t memory, std::optional<std::int64_t> max_request) {
  const Result<MemoryShares> shares = split_memory({memory, max_request, 8});
  EXPECT_TRUE(shares) << shares.error().message;
  EXPECT_EQ(shares->base + shares->receiving + shares->transport + shares->models, memory);
  EXPECT_GE(shares->transport, 2 * shares->largest_message);
  EXPECT_EQ(shares->receiving, 3 * shares->receives * shares->largest_message);
  return *shares;
}

std::string refusal(std::int64_t memory, std::optional<std::int64_t> max_request) {
  const Result<MemoryShares> shares = split_memory({memory, max_request, 8});
  EXPECT_FALSE(shares) << memory;
  if (shares) return "";
  EXPECT_EQ(shares.error().code, ErrorCode::over_budget);
  return shares.error().message;
}

// 0.8 of a container's memory is the daemon's.
TEST(MemoryShares, APlanFitsInTheContainerThatKubernetesIsAskedForIt) {
  for (const std::int64_t bytes : {100 * mib, 3 * gib, 7 * gib + 1, 200 * gib}) {
    Plan plan;
    plan.memory.transient = bytes;
    const std::string asked = k8s_resources(plan);
    const std::int64_t container = std::stoll(asked.substr(asked.find("memory: ") + 8)) * mib;
    EXPECT_GE(split(container / 5 * 4, not_given).models, bytes);
    EXPECT_LE(split(container / 5 * 4, not_given).models, bytes + bytes / 8 + mib) << "more than is needed";
  }
}

TEST(MemoryShares, TransportIsAnEighthOrTwoMessages) {
  EXPECT_EQ(split(16 * gib, 256 * mib).transport, 2 * gib);
  EXPECT_EQ(split(2 * gib, 256 * mib).transport, 512 * mib);
  EXPECT_EQ(split(16 * gib, 100 * mib).largest_message, 100 * mib);
}

TEST(MemoryShares, WhatIsReceivedIsCountedAndTheTurnsFollowTheMemory) {
  EXPECT_EQ(split(512 * mib, 64 * mib).receives, 1);
  EXPECT_EQ(split(512 * mib, 64 * mib).receiving, 192 * mib);
  EXPECT_EQ(split(512 * mib, 64 * mib).models, 128 * mib);
  EXPECT_EQ(split(64 * gib, 256 * mib).receives, 4);
  EXPECT_EQ(split(64 * gib, 1 * mib).receives, 16);
  for (const std::int64_t memory : {4 * gib, 64 * gib, 1024 * gib}) {
    const MemoryShares shares = split(memory, 32 * mib);
    EXPECT_LE(shares.receiving, memory / 32 * 3) << memory;
  }
}

TEST(MemoryShares, MessagesThatWereNotAskedForFollowTheMemory) {
  EXPECT_EQ(split(16 * gib, not_given).largest_message, 128 * mib);
  EXPECT_EQ(split(1 * gib, not_given).largest_message, 16 * mib);
  EXPECT_EQ(split(1 * gib, not_given).models, (1024 - 64 - 128 - 96) * mib);
  for (const std::int64_t memory : {1 * gib, 8 * gib, 100 * gib}) {
    EXPECT_GE(split(memory, not_given).receives, memory < 16 * gib ? 2 : 4) << "a slow caller does not hold up all";
  }
}

TEST(MemoryShares, RefusesMessagesThatDoNotFitAndNamesBothWaysOut) {
  const std::string text = refusal(512 * mib, 128 * mib);
  for (const char* part : {"limit is 512.00 MiB", "up to 128.00 MiB take 640.00 MiB", "give at least 854.00 MiB",
                           "--max-request-bytes of at most 76.00 MiB"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text.find('\n'), std::string::npos);
  split(854 * mib, 128 * mib);
  split(512 * mib, 76 * mib);
  refusal(512 * mib, 77 * mib);
}

TEST(MemoryShares, RefusesWithNumbersWhenNothingIsLeftForModels) {
  for (const std::int64_t memory : {std::int64_t{0}, 1 * mib, 64 * mib, 81 * mib}) {
    EXPECT_THAT(refusal(memory, not_given), HasSubstr("at least 82.00 MiB, plus what models need")) << memory;
    EXPECT_THAT(refusal(memory, not_given), testing::Not(HasSubstr("--max-request-bytes")));
  }
  EXPECT_TRUE(split_memory({82 * mib, not_given, 8}));
}

TEST(MemoryShares, RefusesSizesThatAreNone) {
  for (const std::int64_t message : {std::int64_t{0}, std::int64_t{-1}, saturated}) {
    EXPECT_EQ(split_memory({16 * gib, message, 8}).error().code, ErrorCode::invalid_argument) << message;
  }
}

TEST(MemoryShares, TheLimitItNamesIsTheLimit) {
  for (const std::int64_t message : {std::int64_t{1}, 4 * mib, 31 * mib, 33 * mib, 300 * mib}) {
    std::int64_t least = 64 * mib;
    while (!split_memory({least, message, 8})) least += mib;
    const std::string text = refusal(least - mib, message);
    EXPECT_THAT(text, HasSubstr("at least " + bytes_text(least))) << message;
  }
}

}  // namespace
}  // namespace znni
