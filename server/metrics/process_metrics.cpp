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

// Seconds since 1970: of the start of the machine, and from there to that of the process in ticks, field 22 of its
// state. Fields are counted behind the name of the program, which may hold blanks.
std::optional<double> start_time() {
  std::ifstream machine("/proc/stat");
  double booted = 0;
  for (std::string word; machine >> word;) {
    if (word == "btime" && machine >> booted) break;
  }
  std::ifstream file("/proc/self/stat");
  std::string state;
  std::getline(file, state);
  const std::size_t name_end = state.rfind(')');
  if (booted == 0 || name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(state.substr(name_end + 1));
  constexpr int fields_before = 19;
  std::string field;
  for (int i = 0; i < fields_before; ++i) fields >> field;
  double ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return booted + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all_pages = 0;
  std::int64_t resident_pages = 0;
  file >> all_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

void write_process_metrics(PrometheusText& out) {
  out.family("process_cpu_seconds_total", "counter", "Processor time, of users and system.");
  out.sample({}, processor_seconds());
  out.family("process_resident_memory_bytes", "gauge", "Memory of the process.");
  out.sample({}, resident_bytes());
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
