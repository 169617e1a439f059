#include "server/jobs/admission.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "tests/server/jobs/wait_until.hpp"

namespace znni {
namespace {

using test::wait_until;

TEST(Admission, DrainsAtOnceWhenNobodyIsInside) {
  Admission admission;
  EXPECT_TRUE(admission.open());
  admission.drain(1000);
  EXPECT_FALSE(admission.open());
  const Result<Admission::Entrance> late = admission.enter();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  EXPECT_FALSE(admission.stop_token().stop_requested());
}

TEST(Admission, WaitsForThoseInsideWithoutStoppingThem) {
  Admission admission;
  std::optional<Result<Admission::Entrance>> inside = admission.enter();
  ASSERT_TRUE(*inside);
  std::atomic<bool> drained = false;
  std::jthread drain([&] {
    admission.drain(1000);
    drained = true;
  });
  ASSERT_TRUE(wait_until([&] { return !admission.open(); }));
  EXPECT_FALSE(drained);
  inside.reset();
  EXPECT_TRUE(wait_until([&] { return drained.load(); }));
  EXPECT_FALSE(admission.stop_token().stop_requested());
}

TEST(Admission, AsksThoseInsideToStopWhenTheTimeIsUp) {
  Admission admission;
  std::jthread job([&, entrance = admission.enter()]() mutable {
    EXPECT_TRUE(wait_until([&] { return admission.stop_token().stop_requested(); }));
    const Admission::Entrance leaving = std::move(*entrance);
  });
  admission.drain(0.01);
  EXPECT_TRUE(admission.stop_token().stop_requested());
}

TEST(Admission, KnowsWhomItStoppedAndWhoGaveUp) {
  Admission admission;
  const Error cancelled{ErrorCode::cancelled, "stopped"};
  const Error failed{ErrorCode::device_failure, "failed"};
  std::stop_source gives_up;
  gives_up.request_stop();
  EXPECT_EQ(admission.reason(cancelled, {}).code, ErrorCode::cancelled) << "no drain is under way";
  std::optional<Result<Admission::Entrance>> inside = admission.enter();
  std::jthread drain([&] { admission.drain(0); });
  ASSERT_TRUE(wait_until([&] { return admission.stop_token().stop_requested(); }));
  EXPECT_EQ(admission.reason(cancelled, {}).code, ErrorCode::unavailable);
  EXPECT_EQ(admission.reason(cancelled, gives_up.get_token()).code, ErrorCode::cancelled);
  EXPECT_EQ(admission.reason(failed, {}).code, ErrorCode::device_failure);
  inside.reset();
}

TEST(StopOfEither, ComesFromEachAndWasThereBefore) {
  std::stop_source a;
  std::stop_source b;
  const StopOfEither both(a.get_token(), b.get_token());
  EXPECT_FALSE(both.token().stop_requested());
  b.request_stop();
  EXPECT_TRUE(both.token().stop_requested());
  const StopOfEither later({}, b.get_token());
  EXPECT_TRUE(later.token().stop_requested());
  const StopOfEither never({}, {});
  EXPECT_FALSE(never.token().stop_requested());
}

}  // namespace
}  // namespace znni
