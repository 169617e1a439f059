#include "server/metrics/process_metrics.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace znni {
namespace {

double value_of(const std::string& name) {
  PrometheusText out;
  write_process_metrics(out);
  const std::string line = "\n" + name + " ";
  const std::size_t at = out.text().find(line);
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? -1 : std::stod(out.text().substr(at + line.size()));
}

TEST(ProcessMetrics, DescriptorsAreCounted) {
  const double before = value_of("process_open_fds");
  const int one = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(value_of("process_open_fds"), before + 1);
  close(one);
  EXPECT_EQ(value_of("process_open_fds"), before);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(value_of("process_max_fds"), static_cast<double>(limit.rlim_cur));
}

TEST(ProcessMetrics, ProcessorTimeGrowsWithWork) {
  const double before = value_of("process_cpu_seconds_total");
  EXPECT_GT(before, 0);
  while (value_of("process_cpu_seconds_total") == before) {
  }
}

// The clock of the machine's start is told in whole seconds.
TEST(ProcessMetrics, TheStartLiesBeforeNowAndStays) {
  const double start = value_of("process_start_time_seconds");
  EXPECT_LT(start, static_cast<double>(std::time(nullptr)) + 2);
  EXPECT_GT(start, 1.7e9);
  EXPECT_EQ(value_of("process_start_time_seconds"), start);
}

TEST(ProcessMetrics, MemoryIsThatOfTheProcess) {
  EXPECT_GT(value_of("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(resident_bytes(), 1 << 20);
}

TEST(ProcessMetrics, AddressSpaceIsThatOfTheProcess) {
  constexpr std::size_t bytes = std::size_t{1} << 36;
  const double before = value_of("process_virtual_memory_bytes");
  EXPECT_GE(before, value_of("process_resident_memory_bytes"));
  void* const unused = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(unused, MAP_FAILED);
  EXPECT_GE(value_of("process_virtual_memory_bytes"), static_cast<double>(bytes)) << "counted, though none is used";
  munmap(unused, bytes);
  EXPECT_LT(value_of("process_virtual_memory_bytes"), before + static_cast<double>(bytes));
}

TEST(ProcessMetrics, ThreadsAreCounted) {
  constexpr int count = 64;
  const double before = value_of("process_threads");
  EXPECT_GE(before, 1);
  EXPECT_LT(before, count);
  std::latch counted(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&counted] { counted.wait(); });
  EXPECT_GT(value_of("process_threads"), count);
  counted.count_down();
}

}  // namespace
}  // namespace znni
