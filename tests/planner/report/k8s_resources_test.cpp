#include "planner/report/k8s_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mib = std::int64_t{1} << 20;

Plan plan_of(std::int64_t bytes, Seconds longest_patch) {
  Plan plan;
  plan.key.threads = 6;
  plan.memory = {bytes / 4, bytes / 4, bytes / 2};
  plan.ladder.resize(2);
  plan.ladder[0].seconds = longest_patch;
  plan.ladder[1].seconds = 0.5;
  return plan;
}

TEST(K8sResources, MemoryHoldsThePlanInTheDaemonsShareOfTheContainer) {
  const std::string patch = k8s_resources(plan_of(1936 * mib, 1));
  EXPECT_THAT(patch, HasSubstr("requests: {cpu: \"6\", memory: 3201Mi}"));
  EXPECT_THAT(patch, HasSubstr("limits: {cpu: \"6\", memory: 3201Mi}"));
  EXPECT_THAT(patch, HasSubstr("a plan of 1.89 GiB, 6 threads"));
}

TEST(K8sResources, TheLongestPatchMayEnd) {
  const std::string quick = k8s_resources(plan_of(mib, 2));
  EXPECT_THAT(quick, HasSubstr("terminationGracePeriodSeconds: 45\n"));
  EXPECT_THAT(quick, HasSubstr("{name: ZNNI_EXIT_TIMEOUT, value: \"30\"}"));
  const std::string slow = k8s_resources(plan_of(mib, 99.6));
  EXPECT_THAT(slow, HasSubstr("terminationGracePeriodSeconds: 215\n"));
  EXPECT_THAT(slow, HasSubstr("{name: ZNNI_EXIT_TIMEOUT, value: \"200\"}"));
}

TEST(K8sResources, ATimeBeyondADayIsWhatTheDaemonTakes) {
  EXPECT_THAT(k8s_resources(plan_of(mib, 1e12)), HasSubstr("{name: ZNNI_EXIT_TIMEOUT, value: \"86400\"}"));
}

}  // namespace
}  // namespace znni
