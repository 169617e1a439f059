// Memory of the emulated GPU. The host may not touch it but through calls: outside of kernels, copies and functions of
// the libraries its pages are closed, and a touch ends the program by SIGSEGV.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace znni::cuda_emulation {

// Bytes of all device memory.
inline constexpr std::size_t memory_bytes = std::size_t{8} << 30;

// Thread safe.
class DeviceMemory {
 public:
  // Takes `bytes` > 0; null where less is left.
  [[nodiscard]] void* allocate(std::size_t bytes);
  // Gives back what allocate() gave; false where it did not.
  bool release(void* block);
  [[nodiscard]] bool holds(const void* at, std::size_t bytes) const;
  [[nodiscard]] std::size_t allocated() const;

  // Opens all blocks to the program, until close() was called as often.
  void open();
  void close();

 private:
  void protect(int protection);

  mutable std::mutex mutex_;  // guards all below
  std::map<std::byte*, std::size_t> blocks_;
  std::size_t allocated_ = 0;
  int open_ = 0;
};

[[nodiscard]] DeviceMemory& device_memory();

// Device memory is open while one of these lives.
class Access {
 public:
  Access() { device_memory().open(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access() { device_memory().close(); }
};

}  // namespace znni::cuda_emulation
