#include "planner/split_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/pipeline/pipeline.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

constexpr std::int64_t much = std::int64_t{1} << 40;

class SplitSearchTest : public testing::Test {
 protected:
  [[nodiscard]] Result<SplitChoice> choose(const SpaceBytes& budget) const {
    return choose_split(network_, test::choice_of(network_, PoolMode::fragments, 2), test::split_catalogue(), specs_,
                        budget);
  }
  [[nodiscard]] static std::string places(const SplitChoice& choice) {
    std::string text;
    for (const Segment& segment : choice.rung.segments) {
      text += std::string(to_string(segment.place)) + " " + std::to_string(segment.first) + "-" +
              std::to_string(segment.last) + ";";
    }
    return text;
  }

  PlaceSpecs specs_{DeviceSpec{}, test::host_sim_spec()};
  Network network_ = test::simple_network(2);  // conv pool conv pool conv
};

TEST_F(SplitSearchTest, AFastGpuWithMuchMemoryDoesAllAlone) {
  specs_.gpu.flops_per_second = 1e13;
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const SplitChoice choice = choose({much, much, much}).value();
  EXPECT_EQ(places(choice), "gpu 0-4;");
  EXPECT_EQ(choice.rung.seconds, choice.seconds.gpu);
}

TEST_F(SplitSearchTest, ASlowGpuSharesWithTheCpu) {
  specs_.gpu.flops_per_second = 2e9;  // the oracle's primitive is modelled at 1e9
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const SplitChoice choice = choose({much, much, much}).value();
  ASSERT_EQ(choice.rung.segments.size(), 2U) << places(choice);
  EXPECT_EQ(choice.rung.segments[0].place, Place::cpu);
  EXPECT_GT(choice.seconds.cpu, 0);
  EXPECT_LT(choice.seconds.patch(), choice.seconds.cpu + choice.seconds.gpu);
}

// Less memory on the device: groups, then layers through host RAM, and never a faster prediction.
TEST_F(SplitSearchTest, LessDeviceMemoryIsNeverFasterAndNeverTooMuch) {
  specs_.gpu.flops_per_second = 1e12;
  Seconds before = 0;
  std::string first;
  std::string last;
  for (std::int64_t device = 1 << 20; device >= 1 << 13; device /= 2) {
    const SpaceBytes budget{much, much, device};
    const Result<SplitChoice> choice = choose(budget);
    if (!choice) break;
    EXPECT_TRUE(budget.covers(choice->bytes));
    EXPECT_GE(choice->seconds.patch(), before * (1 - 1e-12));
    before = choice->seconds.patch();
    last = places(*choice) + " groups of " + std::to_string(choice->rung.segments.back().group.inputs);
    if (first.empty()) first = last;
  }
  EXPECT_NE(first, last);
}

TEST_F(SplitSearchTest, SaysWhatIsLacking) {
  EXPECT_THAT(choose({much, much, 100}).error().message, HasSubstr("device"));
  EXPECT_FALSE(choose({0, much, much}).has_value() && choose({0, 0, much}).has_value());
}

// What the search counts is what the pipeline reserves, for every cut.
TEST(PipelineBytes, AreWhatThePipelineReserves) {
  for (int i = 0; i < test::case_count(20); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random, 16);
    const NetworkWeights weights = random_weights(network, 1);
    const GeometryChoice choice = test::split_choice(network, random, random.integer(1, 2));
    const std::unique_ptr<Device> cpu = test::host_device(std::int64_t{1} << 30);
    test::HostSim gpu;
    std::vector<int> cuts = test::legal_cuts(network);
    cuts.push_back(static_cast<int>(network.nodes.size()));
    for (const int until : cuts) {
      const int theta = random.chance(0.5) ? 0 : std::min(until, cuts[cuts.size() / 2]);
      const Result<Rung> rung = test::rung_of_three(network, choice, theta, until, cpu->spec(), gpu.spec(), random);
      ASSERT_TRUE(rung) << rung.error().message;
      const Result<RungSegments> parts = take_apart(network, *rung, test::split_catalogue(), {cpu->spec(), gpu.spec()});
      ASSERT_TRUE(parts) << parts.error().message;
      const auto pipeline = Pipeline::open(network, weights, *rung, test::split_catalogue(), *cpu, gpu);
      if (!pipeline) continue;
      const SpaceBytes counted = pipeline_bytes(*parts);
      EXPECT_EQ(gpu.reserved(MemorySpace::device), counted.device);
      EXPECT_EQ(gpu.reserved(MemorySpace::pinned), counted.pinned);
      EXPECT_LE(cpu->reserved(MemorySpace::host), counted.host);
      EXPECT_GE(cpu->reserved(MemorySpace::host) + 64 * 32, counted.host);  // this device counts bytes as they are
    }
  }
}

}  // namespace
}  // namespace znni
