#include "primitives/cpu/device/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace znni::cpu {
namespace {

namespace fs = std::filesystem;

// Version 1 writes a limit at or above this for "none".
constexpr std::int64_t no_limit = std::int64_t{1} << 60;
constexpr double budget_share = 0.8;

// Reads the first numbers of a small file; "max", missing files and invalid text end the list.
std::vector<std::int64_t> read_numbers(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

// Reads the number behind a word at the beginning of a line; 0 if there is none.
std::int64_t read_value(const fs::path& file, std::string_view wanted) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t value = 0;
    if (words >> key >> value && key == wanted) return value;
  }
  return 0;
}

template <class T>
void lower(std::optional<T>& limit, T candidate) {
  limit = limit ? std::min(*limit, candidate) : candidate;
}

// Files of a group that say what memory it may use and uses, and the line of memory.stat with what it could give back.
struct MemoryFiles {
  const char* limit;
  const char* use;
  std::string_view unneeded;
};
constexpr MemoryFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr MemoryFiles version_2{"memory.max", "memory.current", "inactive_file"};

void add_memory_limit(const fs::path& folder, const MemoryFiles& files, CgroupLimits& limits) {
  const std::vector<std::int64_t> limit = read_numbers(folder / files.limit);
  if (limit.empty() || limit[0] <= 0 || limit[0] >= no_limit) return;
  lower(limits.memory_bytes, limit[0]);
  const std::vector<std::int64_t> use = read_numbers(folder / files.use);
  if (use.empty()) return;
  const std::int64_t needed = std::max<std::int64_t>(0, use[0] - read_value(folder / "memory.stat", files.unneeded));
  lower(limits.memory_left, std::max<std::int64_t>(0, limit[0] - needed));
}

void add_quota(const std::vector<std::int64_t>& quota, const std::vector<std::int64_t>& period, CgroupLimits& limits) {
  if (quota.empty() || period.empty() || quota[0] <= 0 || period[0] <= 0) return;
  lower(limits.processors, static_cast<double>(quota[0]) / static_cast<double>(period[0]));
}

// Adds the limits of one folder of either version; missing files set nothing.
void add_folder(const fs::path& folder, CgroupLimits& limits) {
  add_memory_limit(folder, version_2, limits);
  add_memory_limit(folder, version_1, limits);
  add_quota(read_numbers(folder / "cpu.cfs_quota_us"), read_numbers(folder / "cpu.cfs_period_us"), limits);
  const std::vector<std::int64_t> pair = read_numbers(folder / "cpu.max");
  if (pair.size() == 2) add_quota({pair[0]}, {pair[1]}, limits);
}

// Adds the limits of the group's own folder and of every folder above it, up to the mount point. Inside a container the
// group's path may not exist below the mount; then the mount point is the container's own group.
void add_chain(const fs::path& mount, std::string group, CgroupLimits& limits) {
  while (true) {
    add_folder(mount / fs::path(group).relative_path(), limits);
    const std::size_t slash = group.find_last_of('/');
    if (slash == std::string::npos || group == "/") break;
    group.resize(slash);
  }
  add_folder(mount, limits);
}

// Reads a line of /proc/meminfo, in bytes; 0 if it is missing.
std::int64_t read_meminfo(const fs::path& root, std::string_view wanted) {
  return read_value(root / "proc/meminfo", wanted) * 1024;
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    add_chain(mounts / controllers, group, limits);
    // Version 1 controllers mounted together may be linked under their single names only.
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      if (name != controllers) add_chain(mounts / name, group, limits);
    }
  }
  return limits;
}

std::int64_t memory_available(const fs::path& root) { return read_meminfo(root, "MemAvailable:"); }

std::int64_t memory_limit(const fs::path& root) {
  const std::int64_t physical = read_meminfo(root, "MemTotal:");
  const std::optional<std::int64_t> group = read_cgroup_limits(root).memory_bytes;
  if (!group) return physical;
  return physical == 0 ? *group : std::min(physical, *group);
}

std::int64_t memory_free(const fs::path& root) {
  const std::int64_t available = memory_available(root);
  const CgroupLimits limits = read_cgroup_limits(root);
  const std::int64_t left = limits.memory_left.value_or(available);
  return std::min({available, left, limits.memory_bytes.value_or(left)});
}

std::int64_t default_memory_budget(const fs::path& root) {
  const std::int64_t available = memory_available(root);
  const std::int64_t limit = read_cgroup_limits(root).memory_bytes.value_or(available);
  return static_cast<std::int64_t>(budget_share * static_cast<double>(std::min(available, limit)));
}

int default_threads(const fs::path& root) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  const int usable = known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
  const double quota = read_cgroup_limits(root).processors.value_or(usable);
  return std::max(1, std::min(usable, static_cast<int>(std::ceil(quota))));
}

}  // namespace znni::cpu
