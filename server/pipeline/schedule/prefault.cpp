#include "server/pipeline/schedule/prefault.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "primitives/core/clock_time.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

// Whole huge pages, and short: while the kernel populates, other threads of the process can map nothing.
constexpr std::int64_t part_bytes = std::int64_t{4} << 20;

std::int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

// Asks for all pages that hold a byte of `part`; false where the kernel does not know the question.
bool populate(std::span<std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(page_bytes());
  const auto first = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size());
  const std::uintptr_t bytes = (end - first + page - 1) / page * page;
  return madvise(reinterpret_cast<void*>(first), bytes, MADV_POPULATE_WRITE) == 0;
}

}  // namespace

void prefault_by_writing(std::span<std::byte> block) {
  const auto page = static_cast<std::size_t>(page_bytes());
  const auto rewrite = [&block](std::size_t index) {
    volatile std::byte& here = block[index];
    here = here;
  };
  for (std::size_t index = 0; index < block.size(); index += page) rewrite(index);
  if (!block.empty()) rewrite(block.size() - 1);
}

Result<Seconds> prefault(std::span<std::byte> block, Executor& executor, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  const auto bytes = static_cast<std::int64_t>(block.size());
  executor.parallel_for(div_up(bytes, part_bytes), [&](std::int64_t index, int) {
    if (stop.stop_requested()) return;
    const std::int64_t first = index * part_bytes;
    const std::int64_t length = std::min(part_bytes, bytes - first);
    const auto part = block.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(length));
    if (!populate(part)) prefault_by_writing(part);
  });
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while memory was prefaulted"};
  return seconds_since(start);
}

}  // namespace znni
