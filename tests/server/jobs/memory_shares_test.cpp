#include "server/jobs/memory_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/model_server.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t gib = std::int64_t{1} << 30;

MemoryShares split(std::int64_t memory, std::int64_t max_request) {
  const Result<MemoryShares> shares = split_memory({memory, max_request, 8});
  EXPECT_TRUE(shares) << shares.error().message;
  EXPECT_EQ(shares->base + shares->transport + shares->models, memory);
  return *shares;
}

TEST(MemoryShares, TransportIsAnEighthOrTwoMessages) {
  EXPECT_EQ(split(16 * gib, 256 * mib).transport, 2 * gib);
  EXPECT_EQ(split(2 * gib, 256 * mib).transport, 512 * mib);
  EXPECT_EQ(split(16 * gib, 256 * mib).largest_message, 256 * mib);
}

TEST(MemoryShares, TransportNeverTakesMoreThanHalf) {
  const MemoryShares shares = split(512 * mib, 256 * mib);
  EXPECT_EQ(shares.transport, 256 * mib);
  EXPECT_EQ(shares.largest_message, 128 * mib);
  EXPECT_EQ(shares.models, 192 * mib);
  EXPECT_EQ(split(8 * gib, saturated).transport, 4 * gib);
}

TEST(MemoryShares, RefusesWithNumbersWhenNothingIsLeftForModels) {
  for (const std::int64_t memory : {std::int64_t{0}, 1 * mib, 128 * mib}) {
    const Result<MemoryShares> shares = split_memory({memory, 256 * mib, 8});
    ASSERT_FALSE(shares) << memory;
    EXPECT_EQ(shares.error().code, ErrorCode::over_budget);
    EXPECT_THAT(shares.error().message, HasSubstr("above 128.00 MiB"));
  }
  EXPECT_TRUE(split_memory({128 * mib + 4, 256 * mib, 8}));
  EXPECT_FALSE(split_memory({16 * gib, 0, 8}));
}

TEST(MemoryShares, TheLimitItNamesIsTheLimit) {
  for (const std::int64_t message : {std::int64_t{1}, 4 * mib, 31 * mib, 33 * mib}) {
    std::int64_t least = 64 * mib;
    while (!split_memory({least, message, 8})) least += mib / 4;
    const std::string text = split_memory({least - mib / 4, message, 8}).error().message;
    EXPECT_THAT(text, HasSubstr("above ")) << message;
    const double named = std::stod(text.substr(text.find("above ") + 6));
    EXPECT_NEAR(named, static_cast<double>(least) / mib, 0.26) << message;
  }
}

TEST(MemoryShares, ModelsShareWhatIsLeftEvenly) {
  EXPECT_EQ(share_of_model(900, 3), 300);
  EXPECT_EQ(share_of_model(900, 1), 900);
  EXPECT_EQ(share_of_model(-5, 2), 0);
}

}  // namespace
}  // namespace znni
