#include "server/conv/convolution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/server/conv/conv_data.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

const ConvProblem conv{{1, 20, {9, 10, 11}}, 24, {3, 3, 3}, Vec3::cube(1), Vec3::cube(1), {}};
constexpr std::int64_t plenty = std::int64_t{1} << 40;

// Runs all works in workspaces of their own.
void run_all(const Convolution3d& own, const test::ConvData& data, test::ConvWritten& written) {
  const float* const gradient = data.output_gradient.data() + 1;
  const float* const input = data.input.data() + 1;
  const auto run = [&](ConvWork work, WorkTensors tensors) {
    test::Workspace workspace(own.plan(work).packing.bytes);
    tensors.workspace = workspace.span();
    const Result<void> done = own.run(work, data.view(), tensors);
    EXPECT_TRUE(done) << done.error().message;
  };
  run(ConvWork::forward, {{input}, written.output.data() + 1, {}, {}});
  run(ConvWork::input_gradient, {{gradient}, written.input_gradient.data() + 1, {}, {}});
  run(ConvWork::weight_gradient, {{gradient, input}, written.weight_gradient.data() + 1, written.bias_gradient, {}});
}

TEST(Convolution3d, ComputesAllWorks) {
  const auto own = Convolution3d::make(conv, 2, plenty);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ((*own)->problem(), conv);
  test::Random random(test::base_seed());
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  run_all(**own, data, written);
  test::expect_exact(written, data, to_string(LayerProblem(conv)));
}

TEST(Convolution3d, RunsOfSeveralThreadsTakeTurns) {
  const auto own = Convolution3d::make(conv, 2, plenty);
  const auto other = Convolution3d::make(conv, 2, std::int64_t{1} << 18);
  test::Random random(test::base_seed());
  const test::ConvData data(conv, random);
  std::vector<test::ConvWritten> written(4, test::ConvWritten(data));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < written.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 20; ++run) run_all(i % 2 == 0 ? **own : **other, data, written[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const test::ConvWritten& each : written) test::expect_exact(each, data, "one of several threads");
}

TEST(Convolution3d, RefusesWhatCannotBe) {
  const auto idle = Convolution3d::make(conv, 0, plenty);
  ASSERT_FALSE(idle);
  EXPECT_EQ(idle.error().message, "threads = 0: at least 1 is needed");
  ConvProblem small = conv;
  small.in.n.y = 2;
  const auto outside = Convolution3d::make(small, 1, plenty);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::invalid_argument);
}

TEST(Convolution3d, IsRefusedInTheChildOfAFork) {
  const auto own = Convolution3d::make(conv, 1, plenty);
  test::Random random(test::base_seed());
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  run_all(**own, data, written);  // the thread has started then, and holds no lock of an allocator
  const pid_t child = fork();
  if (child == 0) {
    const Result<void> done = (*own)->run(ConvWork::forward, {}, {});
    _exit(!done && !(*own)->is_of_this_process() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE((*own)->is_of_this_process());
}

TEST(Convolution3d, HasALimitOfTheMemoryThatIsFree) {
  EXPECT_GT(default_workspace_limit(), 1 << 20);
  const test::TemporaryDirectory root;
  root.write("proc/meminfo", "MemAvailable: 1000 kB\n");
  EXPECT_EQ(default_workspace_limit(root.path()), 409600);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "900000\n");
  root.write("sys/fs/cgroup/memory.current", "400000\n");
  EXPECT_EQ(default_workspace_limit(root.path()), 200000);
}

}  // namespace
}  // namespace znni
