// What this process may use of the machine: processors and memory, limits of its control groups (v1 and v2)
// and its affinity respected. Defaults of `planner` and `znnid` come from here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace znni::cpu {

// Limits of the control groups a process belongs to; nothing where there is none.
struct CgroupLimits {
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> processors;  // quota / period
  bool operator==(const CgroupLimits&) const = default;
};

// Reads /proc/self/cgroup and /sys/fs/cgroup below `root` ("/" but in tests), every group from the process's
// own up to the root; the smallest limit counts. Files that are missing or make no sense set no limit.
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

// MemAvailable of /proc/meminfo below `root`, bytes; 0 when it cannot be read.
[[nodiscard]] std::int64_t memory_available(const std::filesystem::path& root = "/");

// RAM of the machine (MemTotal of /proc/meminfo below `root`), or the limit of its control groups where that is less:
// beyond it the system ends the process. Bytes; 0 when neither can be read.
[[nodiscard]] std::int64_t memory_limit(const std::filesystem::path& root = "/");

// 0.8 x the smaller of MemAvailable and the memory limit: the default of --mem. Bytes.
[[nodiscard]] std::int64_t default_memory_budget(const std::filesystem::path& root = "/");

// Processors of the affinity mask, no more than the quota rounded up; at least 1.
[[nodiscard]] int default_threads(const std::filesystem::path& root = "/");

}  // namespace znni::cpu
