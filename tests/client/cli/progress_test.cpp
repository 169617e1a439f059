#include "client/cli/progress.hpp"

#include <gtest/gtest.h>

namespace znni::client {
namespace {

TEST(Progress, DurationsReadAsPeopleWriteThem) {
  EXPECT_EQ(duration_text(0.2), "0:00");
  EXPECT_EQ(duration_text(41), "0:41");
  EXPECT_EQ(duration_text(3600 + 2 * 60 + 9), "1:02:09");
  EXPECT_EQ(duration_text(-3), "0:00");
}

TEST(Progress, LineTellsShareRateAndTimeLeft) {
  const std::string line = progress_line({10, 40, 10.0, 5e6, 0});
  EXPECT_NE(line.find("10/40 patches"), std::string::npos);
  EXPECT_NE(line.find("0.500 Mvox/s"), std::string::npos);
  EXPECT_NE(line.find("0:30 left"), std::string::npos);
}

TEST(Progress, ThePatchUnderWayCounts) {
  const std::string line = progress_line({0, 1, 10.0, 5e6, 0.5});
  EXPECT_NE(line.find("[===============>"), std::string::npos) << line;
  EXPECT_NE(line.find("0/1 patches"), std::string::npos);
  EXPECT_NE(line.find("0:10 left"), std::string::npos);
}

TEST(Progress, OfOnePartOfSeveral) {
  const std::string line = progress_line({5, 10, 10.0, 5e6, 0, 0.25, 0.5, 2, 3});
  EXPECT_NE(line.find("[===============>"), std::string::npos) << line;
  EXPECT_NE(line.find("part 2/3  5/10 patches"), std::string::npos) << line;
  EXPECT_NE(line.find("0:10 left"), std::string::npos) << line;
}

TEST(Progress, PartsAddUp) {
  testing::internal::CaptureStderr();
  Progress progress(ProgressStyle::lines, 100);
  progress.begin_part(4, 5, 25);  // an earlier run did the first three
  progress.show(1, 1);
  progress.begin_part(5, 5, 75);
  progress.show(2, 2);
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_NE(shown.find("[=======>                      ]  part 4/5  1/1"), std::string::npos) << shown;
  EXPECT_NE(shown.find("[==============================]  part 5/5  2/2"), std::string::npos) << shown;
}

TEST(Progress, NothingKnownIsNoDivisionByZero) {
  EXPECT_EQ(progress_line({0, 0, 0, 0, 0}).find("nan"), std::string::npos);
}

TEST(Progress, NoneStaysSilentAndLinesEndWhole) {
  testing::internal::CaptureStderr();
  Progress none(ProgressStyle::none, 100);
  none.show(1, 1);
  none.say("again");
  none.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  none.announce("why");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "znni: why\n");
  testing::internal::CaptureStderr();
  Progress lines(ProgressStyle::lines, 100);
  lines.show(1, 2);  // not due yet
  lines.show(2, 2);  // the last line is always shown
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("1/2"), std::string::npos);
  EXPECT_NE(shown.find("2/2 patches"), std::string::npos);
  EXPECT_EQ(shown.back(), '\n');
}

}  // namespace
}  // namespace znni::client
