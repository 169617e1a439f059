// Processors and memory that this process may use. Limits of its control groups (v1 and v2) and its affinity are
// respected. `planner` and `znnid` take their defaults from here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace znni::cpu {

// Limits of the control groups of a process; empty if there is no limit.
struct CgroupLimits {
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> processors;  // quota / period
  // Bytes up to the limit: what the group uses is taken off, but not files that it read and does not need. Empty if
  // there is no limit, or if the use is not known.
  std::optional<std::int64_t> memory_left{};
  bool operator==(const CgroupLimits&) const = default;
};

// Returns the limits in /proc/self/cgroup and /sys/fs/cgroup below `root` ("/" except in tests). Reads every group from
// the process's own up to the root group; the smallest limit counts. Missing or invalid files set no limit.
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

// Returns MemAvailable of /proc/meminfo below `root` in bytes; 0 if it cannot be read.
[[nodiscard]] std::int64_t memory_available(const std::filesystem::path& root = "/");

// Returns the RAM of the machine (MemTotal of /proc/meminfo below `root`) or the limit of its control groups, if that
// is less. The system kills a process that exceeds it. In bytes; 0 if neither can be read.
[[nodiscard]] std::int64_t memory_limit(const std::filesystem::path& root = "/");

// Returns what this process may take now: the smaller of MemAvailable and what its control groups leave of their
// limits. In bytes; 0 if there is none, or if it cannot be read.
[[nodiscard]] std::int64_t memory_free(const std::filesystem::path& root = "/");

// Returns the default of --mem in bytes: 0.8 x the smaller of MemAvailable and the memory limit.
[[nodiscard]] std::int64_t default_memory_budget(const std::filesystem::path& root = "/");

// Returns the number of processors of the affinity mask, at most the quota rounded up; at least 1.
[[nodiscard]] int default_threads(const std::filesystem::path& root = "/");

}  // namespace znni::cpu
