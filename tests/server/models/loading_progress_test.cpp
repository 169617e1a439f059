#include "server/models/loading_progress.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

class LoadingProgressTest : public testing::Test {
 protected:
  std::chrono::steady_clock::time_point now_;
  LoadingProgress progress_{[this] { return now_; }};
};

TEST_F(LoadingProgressTest, NamesThePhaseAndItsSeconds) {
  EXPECT_EQ(progress_.text(), "waits for other models to be loaded");
  progress_.begin("reading its files");
  now_ += std::chrono::milliseconds(1999);
  EXPECT_EQ(progress_.text(), "reading its files for 1 s");
  progress_.begin("planning within 4.00 GiB");
  EXPECT_EQ(progress_.text(), "planning within 4.00 GiB for 0 s");
}

TEST_F(LoadingProgressTest, SaysHowFarTheSearchOfThisPhaseIs) {
  progress_.begin("planning");
  now_ += std::chrono::seconds(12);
  progress_.tell({340, 1200, 0, false});
  EXPECT_EQ(progress_.text(), "planning for 12 s: 340 of 1200 patches looked at, none fits so far");
  progress_.tell({341, 1200, 423456, false});
  EXPECT_EQ(progress_.text(), "planning for 12 s: 341 of 1200 patches looked at, 4.23e+05 voxels/s so far");
  progress_.tell({5, 20, 1000, true});
  EXPECT_EQ(progress_.text(), "planning for 12 s: 5 of 20 smaller patches looked at, 1e+03 voxels/s so far");
  progress_.begin("preparing its layers");
  EXPECT_EQ(progress_.text(), "preparing its layers for 0 s");
}

}  // namespace
}  // namespace znni
