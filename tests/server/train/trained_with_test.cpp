#include "server/train/trained_with.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class TrainedWithTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string state() const {
    return volumes_state(
        {{path("a.h5:/raw"), path("a.h5:/labels"), ""}, {path("b.npy"), path("pages"), path("m.npy")}});
  }
  void write_all() const {
    folder_.write("a.h5", "1");
    folder_.write("b.npy", "22");
    folder_.write("m.npy", "333");
    folder_.write("pages/1.tif", "4444");
    folder_.write("pages/more/2.tif", "55555");
  }

  test::TemporaryDirectory folder_;
};

TEST_F(TrainedWithTest, EachFileHasALine) {
  write_all();
  const std::string text = state();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_THAT(text, StartsWith(path("a.h5") + "\t1 1 "));
  EXPECT_THAT(text, HasSubstr(path("pages") + "\t2 9 "));
  EXPECT_EQ(changed_file(text, state()), "");
}

TEST_F(TrainedWithTest, AChangedFileIsNamed) {
  write_all();
  const std::string before = state();
  folder_.write("pages/more/2.tif", "55555 and more");
  EXPECT_EQ(changed_file(before, state()), path("pages"));
  write_all();
  const std::string again = state();
  std::filesystem::last_write_time(path("m.npy"),
                                   std::filesystem::last_write_time(path("m.npy")) + std::chrono::hours(1));
  EXPECT_EQ(changed_file(again, state()), path("m.npy"));
  std::filesystem::remove(path("b.npy"));
  EXPECT_EQ(changed_file(again, state()), path("b.npy"));
}

TEST_F(TrainedWithTest, PlansOfOtherPrimitivesOrVariantsDiffer) {
  Primitive direct;
  direct.name = "cpu.direct";
  Primitive fft;
  fft.name = "cpu.fft";
  StepPlan plan;
  plan.nodes = {"conv"};
  plan.calls.resize(1);
  plan.calls[0].layer = &direct;
  const std::string own = plan_fingerprint(plan);
  StepPlan other = plan;
  other.device.threads = 7;
  other.calls[0].seconds = 3;
  EXPECT_EQ(plan_fingerprint(other), own);
  other.calls[0].layer = &fft;
  EXPECT_NE(plan_fingerprint(other), own);
  Primitive newer = direct;
  newer.version = 2;
  other.calls[0].layer = &newer;
  EXPECT_NE(plan_fingerprint(other), own);
  other = plan;
  other.device.simd_floats = 16;
  EXPECT_NE(plan_fingerprint(other), own);
  other = plan;
  other.nodes = {"other"};
  EXPECT_NE(plan_fingerprint(other), own);
}

TEST_F(TrainedWithTest, ChangesAreSaidWithWhatToDo) {
  const TrainedWith before = {"a.h5\t1 2 3\n", "0123", "--mem 7 --threads 2"};
  TrainedWith now = before;
  now.limits = "--mem 8 --threads 3";
  EXPECT_THAT(changes(before, now), IsEmpty());
  now.plan = "4567";
  EXPECT_THAT(changes(before, now),
              ElementsAre(AllOf(HasSubstr("another plan"), HasSubstr("give --mem 7 --threads 2 as before"))));
  now.volumes = "a.h5\t1 2 4\n";
  EXPECT_THAT(changes(before, now),
              ElementsAre(AllOf(StartsWith("a.h5: has changed"), HasSubstr("--restart")), HasSubstr("another plan")));
}

}  // namespace
}  // namespace znni
