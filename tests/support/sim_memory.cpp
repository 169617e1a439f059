#include "tests/support/sim_memory.hpp"

#include <sys/mman.h>

#include <cstring>

#include "primitives/core/memory.hpp"
#include "primitives/core/shape.hpp"

namespace znni::test {
namespace {

constexpr std::int64_t always_closed = 256;  // the first accesses, each of which closes the memory

}  // namespace

SimMemory::SimMemory(std::int64_t bytes) : bytes_(round_up(bytes, 4096)) {
  if (bytes_ == 0) return;
  void* block = mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ensure(block != MAP_FAILED, "the system gives address space for a simulated GPU");
  base_ = static_cast<std::byte*>(block);
}

SimMemory::~SimMemory() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(bytes_));
}

std::optional<std::span<std::byte>> SimMemory::take(std::int64_t bytes) {
  const std::int64_t size = round_up(bytes, buffer_alignment);
  std::int64_t at = 0;
  for (const auto& [offset, length] : blocks_) {
    if (offset - at >= size) break;
    at = offset + length;
  }
  if (size > bytes_ - at) return std::nullopt;
  blocks_.emplace(at, size);
  taken_ += size;
  const std::span<std::byte> block(base_ + at, static_cast<std::size_t>(bytes));
  poison(block);
  return block;
}

void SimMemory::give_back(std::span<std::byte> block) {
  const auto found = blocks_.find(block.data() - base_);
  ensure(found != blocks_.end(), "what is given back to a simulated GPU was taken from it");
  poison(block);
  taken_ -= found->second;
  blocks_.erase(found);
}

bool SimMemory::holds(const std::byte* data, std::int64_t bytes) const {
  if (data < base_ || data >= base_ + bytes_) return false;
  const auto after = blocks_.upper_bound(data - base_);
  if (after == blocks_.begin()) return false;
  const auto& [offset, length] = *std::prev(after);
  return data + bytes <= base_ + offset + length;
}

void SimMemory::poison(std::span<std::byte> block) {
  const Access access(*this);
  std::memset(block.data(), 0xff, block.size());
}

void SimMemory::protect(bool open) {
  if (base_ == nullptr) return;
  const int done = mprotect(base_, static_cast<std::size_t>(bytes_), open ? PROT_READ | PROT_WRITE : PROT_NONE);
  ensure(done == 0, "the system protects the memory of a simulated GPU");
  is_closed_ = !open;
}

SimMemory::Access::Access(SimMemory& memory) : memory_(memory) {
  if (memory_.open_++ == 0 && memory_.is_closed_) memory_.protect(true);
}

SimMemory::Access::~Access() {
  if (--memory_.open_ > 0) return;
  const std::int64_t number = memory_.accesses_++;
  if (number < always_closed || number % 16 == 0) memory_.protect(false);
}

}  // namespace znni::test
