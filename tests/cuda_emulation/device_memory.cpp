#include "tests/cuda_emulation/device_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <iterator>

namespace znni::cuda_emulation {

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > memory_bytes - allocated_) return nullptr;
  const int protection = open_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const block = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  madvise(block, bytes, MADV_HUGEPAGE);  // fewer pages to open and close
  blocks_[static_cast<std::byte*>(block)] = bytes;
  allocated_ += bytes;
  return block;
}

bool DeviceMemory::release(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(block));
  if (found == blocks_.end()) return false;
  munmap(block, found->second);
  allocated_ -= found->second;
  blocks_.erase(found);
  return true;
}

bool DeviceMemory::holds(const void* at, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(at));
  const auto behind = blocks_.upper_bound(first);
  if (behind == blocks_.begin()) return false;
  const auto& [begin, size] = *std::prev(behind);
  const auto offset = static_cast<std::size_t>(first - begin);
  return offset < size && bytes <= size - offset;
}

std::size_t DeviceMemory::allocated() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}

void DeviceMemory::open() {
  const std::lock_guard lock(mutex_);
  if (++open_ == 1) protect(PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) protect(PROT_NONE);
}

void DeviceMemory::protect(int protection) {
  for (const auto& [block, bytes] : blocks_) {
    if (mprotect(block, bytes, protection) != 0) std::abort();
  }
}

DeviceMemory& device_memory() {
  static DeviceMemory memory;
  return memory;
}

}  // namespace znni::cuda_emulation
