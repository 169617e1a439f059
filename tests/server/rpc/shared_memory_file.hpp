// Shared memory as a client would make it; gone with its owner.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "primitives/core/result.hpp"

namespace znni::rpc {

class SharedMemoryFile {
 public:
  explicit SharedMemoryFile(std::int64_t bytes) : bytes_(bytes) {
    static std::atomic<int> number = 0;
    key_ = "/znni_test_" + std::to_string(getpid()) + "_" + std::to_string(++number);
    file_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    ensure(file_ >= 0, "shared memory can be made");
    resize(bytes);
  }
  ~SharedMemoryFile() {
    close(file_);
    shm_unlink(key_.c_str());
  }
  SharedMemoryFile(const SharedMemoryFile&) = delete;
  SharedMemoryFile& operator=(const SharedMemoryFile&) = delete;

  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  void resize(std::int64_t bytes) const { ensure(ftruncate(file_, bytes) == 0, "shared memory can be resized"); }
  void write(std::int64_t offset, const std::string& data) const {
    const auto size = static_cast<ssize_t>(data.size());
    ensure(pwrite(file_, data.data(), data.size(), offset) == size, "shared memory can be written");
  }
  [[nodiscard]] std::string read(std::int64_t offset, std::int64_t bytes) const {
    std::string data(static_cast<std::size_t>(bytes), '\0');
    data.resize(static_cast<std::size_t>(pread(file_, data.data(), data.size(), offset)));
    return data;
  }

 private:
  std::string key_;
  std::int64_t bytes_;
  int file_ = -1;
};

}  // namespace znni::rpc
