#include "primitives/cpu/device/openmp_waiting.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace znni::cpu {
namespace {

// Returns the exit status of a child that calls it in this environment: `came_back`, or that of the restarted program.
constexpr int came_back = 7;
int end_of(const char* variable, const char* value) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    unsetenv("GTEST_OUTPUT");  // the child must not write this program's report
    if (variable != nullptr) setenv(variable, value, 1);
    std::array<char, 32> name = {"openmp_waiting"};
    std::array<char, 32> flag = {"--gtest_filter=nothing"};
    const std::array<char*, 3> arguments = {name.data(), flag.data(), nullptr};
    let_openmp_sleep(arguments.data());
    _exit(came_back);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CpuOpenmpWaiting, StartsTheProgramAnew) { EXPECT_EQ(end_of(nullptr, nullptr), 0); }

TEST(CpuOpenmpWaiting, KeepsWhatTheEnvironmentSays) {
  EXPECT_EQ(end_of("OMP_WAIT_POLICY", "active"), came_back);
  EXPECT_EQ(end_of("GOMP_SPINCOUNT", "100"), came_back);
}

}  // namespace
}  // namespace znni::cpu
