#include "server/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/notify_socket.hpp"

namespace znni {
namespace {

using test::NotifySocket;
using testing::HasSubstr;

TEST(Supervisor, IsToldThroughItsSocket) {
  for (const bool outside : {false, true}) {
    const NotifySocket socket(outside);
    const Supervisor supervisor(socket.name());
    ASSERT_TRUE(supervisor.tell("READY=1")) << socket.name();
    ASSERT_TRUE(supervisor.tell("STOPPING=1"));
    EXPECT_EQ(socket.wait(), "READY=1");
    EXPECT_EQ(socket.wait(), "STOPPING=1");
  }
}

TEST(Supervisor, WhereThereIsNoneNothingIsSent) {
  EXPECT_TRUE(Supervisor(nullptr).tell("READY=1"));
  EXPECT_TRUE(Supervisor("").tell("READY=1"));
}

TEST(Supervisor, OneThatCannotBeReachedIsNamed) {
  const Result<void> gone = Supervisor("/nowhere/notify").tell("READY=1");
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("NOTIFY_SOCKET /nowhere/notify: No such file"));
  EXPECT_FALSE(Supervisor(std::string(200, 'a').c_str()).tell("READY=1"));
}

TEST(Supervisor, OneThatDoesNotListenHoldsUpNobody) {
  const NotifySocket socket;
  const Supervisor supervisor(socket.name());
  int told = 0;
  while (told < 1'000'000 && supervisor.tell("WATCHDOG=1")) ++told;
  EXPECT_LT(told, 1'000'000);
}

}  // namespace
}  // namespace znni
