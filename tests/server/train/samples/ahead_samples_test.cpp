#include "server/train/samples/ahead_samples.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

namespace znni {
namespace {

// Samples that say their step. Counts who is inside, and remembers in which thread each was made.
class CountedSamples final : public SampleSource {
 public:
  Result<Sample> sample(std::uint64_t step) override {
    EXPECT_EQ(inside_++, 0) << "two samples are made at once";
    if (step == gated) {
      is_begun.release();
      gate.acquire();
    }
    steps.push_back(step);
    threads.push_back(std::this_thread::get_id());
    --inside_;
    if (step == failing) return Error{ErrorCode::device_failure, "no sample " + std::to_string(step)};
    return Sample{{static_cast<float>(step)}, {}, {}, ""};
  }

  std::uint64_t failing = 1000;
  std::uint64_t gated = 1000;  // its sample is begun, and made when the gate opens
  std::binary_semaphore is_begun{0};
  std::binary_semaphore gate{0};
  std::vector<std::uint64_t> steps;
  std::vector<std::thread::id> threads;

 private:
  std::atomic<int> inside_ = 0;
};

TEST(AheadSamples, AreThoseOfTheSource) {
  CountedSamples source;
  {
    AheadSamples ahead(source, 4);
    for (std::uint64_t step = 0; step < 4; ++step) {
      const Result<Sample> sample = ahead.sample(step);
      ASSERT_TRUE(sample);
      EXPECT_EQ(sample->input.front(), static_cast<float>(step));
    }
  }
  EXPECT_EQ(source.steps, (std::vector<std::uint64_t>{0, 1, 2, 3})) << "none is made for a step behind the last";
  EXPECT_EQ(source.threads[0], std::this_thread::get_id());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(source.threads[i], std::this_thread::get_id());
}

TEST(AheadSamples, TheNextIsMadeWhileTheCallerGoesOn) {
  CountedSamples source;
  source.gated = 1;
  AheadSamples ahead(source, 2);
  ASSERT_TRUE(ahead.sample(0));
  source.is_begun.acquire();  // hangs if it is not begun before it is asked for
  source.gate.release();
  EXPECT_EQ(ahead.sample(1)->input.front(), 1);
  EXPECT_EQ(source.steps.size(), 2);
}

TEST(AheadSamples, AnErrorIsThatOfItsStep) {
  CountedSamples source;
  source.failing = 2;
  AheadSamples ahead(source, 10);
  EXPECT_TRUE(ahead.sample(0));
  EXPECT_TRUE(ahead.sample(1));
  const Result<Sample> failed = ahead.sample(2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no sample 2");
}

TEST(AheadSamples, AnyStepMayBeAskedFor) {
  CountedSamples source;
  AheadSamples ahead(source, 100);
  for (const std::uint64_t step : {7, 8, 20, 20, 3}) {
    EXPECT_EQ(ahead.sample(step)->input.front(), static_cast<float>(step));
  }
}

// Without the wait the count below would be that of a sample that is still being made.
TEST(AheadSamples, RestsBeforeSomethingElseReads) {
  CountedSamples source;
  source.gated = 1;
  AheadSamples ahead(source, 100);
  ahead.rest();
  ASSERT_TRUE(ahead.sample(0));
  source.is_begun.acquire();
  source.gate.release();
  ahead.rest();
  EXPECT_EQ(source.steps.size(), 2);
}

TEST(AheadSamples, AnEndWaitsForWhatIsBeingMade) {
  CountedSamples source;
  source.gated = 1;
  {
    AheadSamples ahead(source, 100);
    ASSERT_TRUE(ahead.sample(0));
    source.is_begun.acquire();
    source.gate.release();
  }
  EXPECT_EQ(source.steps.size(), 2);
}

}  // namespace
}  // namespace znni
