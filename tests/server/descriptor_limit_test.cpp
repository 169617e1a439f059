#include "server/descriptor_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace znni {
namespace {

TEST(DescriptorLimit, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const std::int64_t raised = raise_descriptor_limit();
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(raised, static_cast<std::int64_t>(std::min<rlim_t>(before.rlim_max, 1 << 16)));
  EXPECT_EQ(after.rlim_cur, static_cast<rlim_t>(raised));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
}

TEST(DescriptorLimit, ConnectionsAndRegionsLeaveDescriptorsToTheRest) {
  for (const std::int64_t descriptors : {128, 1024, 4096, 65'536}) {
    const std::int64_t taken =
        default_connections(descriptors, std::int64_t{1} << 40) + max_shared_regions(descriptors);
    EXPECT_LE(taken, descriptors * 5 / 8) << descriptors;
  }
  EXPECT_EQ(default_connections(65'536, std::int64_t{512} << 20), 512);
  EXPECT_EQ(default_connections(65'536, std::int64_t{1} << 40), 4096);
  EXPECT_EQ(default_connections(1024, std::int64_t{8} << 30), 512);
  EXPECT_EQ(default_connections(10, std::int64_t{8} << 30), 16);
  EXPECT_EQ(max_shared_regions(65'536), 1024);
}

}  // namespace
}  // namespace znni
