#include "client/cli/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni::client {
namespace {

TEST(Progress, DurationsReadAsPeopleWriteThem) {
  EXPECT_EQ(duration_text(0.2), "0:00");
  EXPECT_EQ(duration_text(41), "0:41");
  EXPECT_EQ(duration_text(3600 + 2 * 60 + 9), "1:02:09");
  EXPECT_EQ(duration_text(-3), "0:00");
}

TEST(Progress, LineTellsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line({10, 40, 10.0, 5e6, 0}, 90),
            "[=======>                      ]  1.25/5.00 M voxels  125 k voxels/s  0:30 left");
  EXPECT_NE(progress_line({1, 2, 10.0, 3e12, 0}).find("1.50/3.00 T voxels  150 G voxels/s"), std::string::npos);
}

TEST(Progress, RatesHaveThreeDigits) {
  const auto has = [](double rate, const std::string& text) {
    const std::string line = progress_line({1, 1, 1.0, rate, 0}, 200);
    EXPECT_NE(line.find("  " + text + " voxels/s"), std::string::npos) << line;
  };
  has(999.6e3, "1.00 M");
  has(999.4e3, "999 k");
  has(99.96e6, "100 M");
  has(12.34e6, "12.3 M");
  has(1.234e9, "1.23 G");
  has(1, "0.00 k");
}

TEST(Progress, PatchesAreToldWithoutVoxels) {
  EXPECT_NE(progress_line({10, 40, 10.0, 0, 0}).find("10/40 patches  0:30 left"), std::string::npos);
}

TEST(Progress, ThePatchUnderWayCounts) {
  const std::string line = progress_line({0, 1, 10.0, 5e6, 0.5}, 90);
  EXPECT_NE(line.find("[===============>"), std::string::npos) << line;
  EXPECT_NE(line.find("2.50/5.00 M voxels"), std::string::npos);
  EXPECT_NE(line.find("0:10 left"), std::string::npos);
}

TEST(Progress, OfOnePartOfSeveral) {
  const std::string line = progress_line({5, 10, 10.0, 5e6, 0, 0.25, 0.5, 2, 3}, 100);
  EXPECT_NE(line.find("[===============>"), std::string::npos) << line;
  EXPECT_NE(line.find("part 2/3  2.50/5.00 M voxels"), std::string::npos) << line;
  EXPECT_NE(line.find("0:10 left"), std::string::npos) << line;
}

TEST(Progress, LineFitsTheTerminal) {
  const ProgressFacts part{5, 10, 10.0, 5e6, 0, 0.25, 0.5, 2, 3};
  const std::string text = "  part 2/3  2.50/5.00 M voxels  250 k voxels/s  0:10 left";
  for (int columns = 0; columns < 120; ++columns) {
    const std::string line = progress_line(part, columns);
    EXPECT_LT(line.size(), std::max<std::size_t>(1, static_cast<std::size_t>(columns)));
    EXPECT_EQ(line.ends_with(text), columns > 64) << line;
  }
  EXPECT_EQ(progress_line(part, 70), "[=====>    ]" + text);
}

TEST(Progress, PartsAddUp) {
  testing::internal::CaptureStderr();
  Progress progress(ProgressStyle::lines, 1000);
  progress.begin_part(4, 5, 250);  // an earlier run did the first three
  progress.show(1, 1);
  progress.begin_part(5, 5, 750);
  progress.show(2, 2);
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_NE(shown.find("]  part 4/5  0.25/1.00 k voxels"), std::string::npos) << shown;
  EXPECT_NE(shown.find("=]  part 5/5  1.00/1.00 k voxels"), std::string::npos) << shown;
}

TEST(Progress, NothingKnownIsNoDivisionByZero) {
  EXPECT_EQ(progress_line({0, 0, 0, 0, 0}).find("nan"), std::string::npos);
}

TEST(Progress, AWaitIsOneRedrawnLineOnATerminal) {
  testing::internal::CaptureStderr();
  Progress bar(ProgressStyle::bar, 100);
  bar.wait("still loading for 1 s");
  bar.wait("still loading for 2 s");
  bar.wait(std::string(1000, 'x'));
  bar.end();
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1);
  EXPECT_EQ(shown.find("\rstill loading for 1 s\x1b[K\rstill loading for 2 s\x1b[K\rxxx"), 0U) << shown;
  EXPECT_LT(std::count(shown.begin(), shown.end(), 'x'), 1000) << "one row";
  testing::internal::CaptureStderr();
  Progress lines(ProgressStyle::lines, 100);
  lines.wait("still loading for 1 s");
  lines.wait("still loading for 2 s");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "still loading for 1 s\n");
}

TEST(Progress, NoneStaysSilentAndLinesEndWhole) {
  testing::internal::CaptureStderr();
  Progress none(ProgressStyle::none, 100);
  none.show(1, 1);
  none.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  none.wait("why");
  none.wait("why still");
  none.show(1, 1);
  none.wait("why again");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "znni: why\nznni: why again\n");
  testing::internal::CaptureStderr();
  Progress lines(ProgressStyle::lines, 1000);
  lines.show(1, 2);  // not due yet
  lines.show(2, 2);  // the last line is always shown
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown.find("0.50/1.00"), std::string::npos);
  EXPECT_NE(shown.find("1.00/1.00 k voxels"), std::string::npos);
  EXPECT_EQ(shown.back(), '\n');
}

}  // namespace
}  // namespace znni::client
