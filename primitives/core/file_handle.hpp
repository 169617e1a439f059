// An open file descriptor that its owner's destructor closes.
#pragma once

#include <unistd.h>

#include <utility>

namespace znni {

class FileHandle {
 public:
  explicit FileHandle(int file) : file_(file) {}
  FileHandle(FileHandle&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileHandle& operator=(FileHandle&&) = delete;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() { close(); }

  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  [[nodiscard]] int get() const { return file_; }
  // Closes the file. Returns false if the system reports that written data was lost.
  bool close() { return file_ < 0 || ::close(std::exchange(file_, -1)) == 0; }

 private:
  int file_ = -1;
};

}  // namespace znni
