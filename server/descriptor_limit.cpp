#include "server/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace znni {
namespace {

constexpr rlim_t max_useful = 1 << 16;

}  // namespace

std::int64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised = {std::max(limit.rlim_cur, std::min(limit.rlim_max, max_useful)), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::int64_t>(std::min(limit.rlim_cur, max_useful));
}

std::int64_t default_connections(std::int64_t descriptors, std::int64_t memory_bytes) {
  return std::clamp(std::min(descriptors / 2, memory_bytes >> 20), std::int64_t{16}, std::int64_t{4096});
}

std::int64_t max_shared_regions(std::int64_t descriptors) {
  return std::clamp(descriptors / 8, std::int64_t{8}, std::int64_t{1024});
}

}  // namespace znni
