#include "server/metrics/process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace znni {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<std::int64_t> open_descriptors() {
  std::error_code failure;
  std::int64_t count = -1;  // the one that reads the folder
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    ++count;
  }
  return failure ? std::nullopt : std::optional(count);
}

// Returns a number of the process's state by the system's own count of its fields; nothing if it is not there. The name
// of the program, field 2, may hold blanks.
std::optional<double> state_field(int number) {
  std::ifstream file("/proc/self/stat");
  std::string state;
  std::getline(file, state);
  const std::size_t name_end = state.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(state.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < number; ++i) fields >> skipped;
  double value = 0;
  return fields >> value ? std::optional(value) : std::nullopt;
}

constexpr int threads_field = 20;
constexpr int start_field = 22;  // in ticks, since the machine started

// Returns seconds since 1970.
std::optional<double> start_time() {
  std::ifstream machine("/proc/stat");
  double booted = 0;
  for (std::string word; machine >> word;) {
    if (word == "btime" && machine >> booted) break;
  }
  const std::optional<double> ticks = state_field(start_field);
  if (booted == 0 || !ticks) return std::nullopt;
  return booted + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

struct MemoryBytes {
  std::int64_t mapped = 0;
  std::int64_t resident = 0;
};

MemoryBytes memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  file >> all_pages >> resident_pages;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {all_pages * page, resident_pages * page};
}

}  // namespace

std::int64_t resident_bytes() { return memory_bytes().resident; }

void write_process_metrics(PrometheusText& out) {
  out.family("process_cpu_seconds_total", "counter", "Processor time, of users and system.");
  out.sample({}, processor_seconds());
  out.family("process_resident_memory_bytes", "gauge", "Memory of the process.");
  const MemoryBytes memory = memory_bytes();
  out.sample({}, memory.resident);
  out.family("process_virtual_memory_bytes", "gauge", "Address space of the process, used or not.");
  out.sample({}, memory.mapped);
  if (const std::optional<double> threads = state_field(threads_field)) {
    out.family("process_threads", "gauge", "Threads of the process.");
    out.sample({}, static_cast<std::int64_t>(*threads));
  }
  if (const std::optional<std::int64_t> open = open_descriptors()) {
    out.family("process_open_fds", "gauge", "Open descriptors.");
    out.sample({}, *open);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.family("process_max_fds", "gauge", "Descriptors that may be open.");
    out.sample({}, static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)));
  }
  if (const std::optional<double> start = start_time()) {
    out.family("process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.");
    out.sample({}, static_cast<std::int64_t>(*start));
  }
}

}  // namespace znni
