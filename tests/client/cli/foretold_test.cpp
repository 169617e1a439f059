#include "client/cli/foretold.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/cli/infer.hpp"
#include "tests/client/fake_daemon.hpp"
#include "tests/client/infer_job.hpp"

namespace znni::client {
namespace {

Job job_of(const std::string& endless_rate) {
  Job job{{}, {}, {}, {}, {7, 4, 6}, {7, 4, 6}, {{0, 0, 0}, {7, 4, 6}}, {}, {}, {}};
  if (!endless_rate.empty()) job.model.properties["predicted_voxels_per_second"] = endless_rate;
  return job;
}

Advice advice_of(double seconds) { return {StreamOutlook{{7, 4, 6}, seconds, 9}, {}}; }

TEST(Foretold, IsOfThisVolumeWithTheEndlessRateBeside) {
  const Foretold own = foretold(job_of("4280000"), advice_of(2.5)).value();
  EXPECT_DOUBLE_EQ(own.voxels_per_second, 7 * 4 * 6 / 2.5);
  EXPECT_EQ(foretold_text(own), "2.50 s, 67 voxels/s (4280000 voxels/s in an endless volume)");
  nlohmann::json json;
  set_foretold(json, own);
  EXPECT_EQ(json, (nlohmann::json{{"predicted_seconds", 2.5},
                                  {"predicted_voxels_per_second", 7 * 4 * 6 / 2.5},
                                  {"endless_voxels_per_second", 4280000.0}}));
}

TEST(Foretold, AnEndlessRateThatIsNoneIsLeftOut) {
  for (const char* text : {"", "fast", "12x", "-3", "0", "nan", "inf"}) {
    const Foretold own = foretold(job_of(text), advice_of(2.5)).value();
    EXPECT_FALSE(own.endless) << text;
    EXPECT_EQ(foretold_text(own), "2.50 s, 67 voxels/s") << text;
  }
}

TEST(Foretold, ADaemonThatTellsNothingForetellsNothing) {
  EXPECT_FALSE(foretold(job_of("1"), Advice{}));
  EXPECT_FALSE(foretold(job_of("1"), advice_of(0)));
}

TEST(Foretold, StandsBesideWhatWasReached) {
  const Scratch scratch;
  const FakeDaemon daemon(Behaviour::sound, {{7, 3, 4}});
  const auto outcome = run_infer(options_for(daemon, scratch, "out.npy"), {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->summary.find(": 7x4x6 voxels in 2.00 s, 84 voxels/s; predicted 2.50 s, 67 voxels/s "
                                  "(4280000 voxels/s in an endless volume)"),
            std::string::npos)
      << outcome->summary;
  const nlohmann::json json = nlohmann::json::parse(outcome->json);
  EXPECT_EQ(json["seconds"], 2.0);
  EXPECT_EQ(json["predicted_seconds"], 2.5);
  EXPECT_EQ(json["endless_voxels_per_second"], 4280000);
}

// A continued job has no prediction either, because it does not ask the daemon for one.
TEST(Foretold, OfAnOlderDaemonNothingIsSaid) {
  const Scratch scratch;
  const FakeDaemon older;
  const auto first = run_infer(options_for(older, scratch, "out.npy"), {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->summary.find("predicted"), std::string::npos) << first->summary;
  EXPECT_EQ(first->json.find("predicted"), std::string::npos) << first->json;
  const FakeDaemon dying(Behaviour::dies_in_the_middle, {{7, 4, 6}, "model", 0, 1});
  Options options = options_for(dying, scratch, "resumed.npy");
  ASSERT_FALSE(run_infer(options, {}));
  options.resume = true;
  const auto second = run_infer(options, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->summary.find("predicted"), std::string::npos) << second->summary;
}

}  // namespace
}  // namespace znni::client
