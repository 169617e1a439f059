#include "server/conv/shared_device.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace znni {
namespace {

TEST(SharedDevice, IsOneForEachNumberOfThreadsWhileItIsInUse) {
  const std::shared_ptr<SharedDevice> one = shared_device(1);
  const std::shared_ptr<SharedDevice> two = shared_device(2);
  EXPECT_NE(one, two);
  EXPECT_EQ(shared_device(2), two);
  EXPECT_EQ(one->device->executor().workers(), 1);
  EXPECT_EQ(two->device->executor().workers(), 2);
  EXPECT_EQ(two->device->spec().sockets, 1);
}

TEST(SharedDevice, IsGivenBackByTheLast) {
  std::weak_ptr<SharedDevice> kept;
  {
    const std::shared_ptr<SharedDevice> device = shared_device(3);
    kept = device;
  }
  EXPECT_TRUE(kept.expired());
}

TEST(SharedDevice, IsAnotherInTheChildOfAFork) {
  const std::shared_ptr<SharedDevice> parents = shared_device(1);
  // Its thread has started then, and holds no lock of an allocator, which the child would wait for.
  parents->device->executor().parallel_for(1, [](std::int64_t, int) {});
  const pid_t child = fork();
  if (child == 0) {
    const std::shared_ptr<SharedDevice> own = shared_device(1);
    int runs = 0;
    own->device->executor().parallel_for(1, [&](std::int64_t, int) { ++runs; });
    _exit(own != parents && runs == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace znni
