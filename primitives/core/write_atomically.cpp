#include "primitives/core/write_atomically.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "primitives/core/file_handle.hpp"

namespace znni {
namespace {

Error system_error(const std::string& what) {
  return {ErrorCode::invalid_argument, what + ": " + std::strerror(errno)};
}

// Syncs the folder of `path`, because a rename is durable only after that.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  static_cast<void>(sync_file(folder.empty() ? "." : folder.string()));
}

Result<void> write_and_sync(FileHandle& file, std::string_view text) {
  constexpr mode_t readable_by_all = 0644;
  if (Result<void> written = write_all(file.get(), text); !written) return written;
  if (::fchmod(file.get(), readable_by_all) != 0 || ::fsync(file.get()) != 0 || !file.close()) {
    return system_error("cannot be written");
  }
  return {};
}

}  // namespace

Result<void> sync_file(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.is_open() && ::fsync(file.get()) == 0) return {};
  if (file.is_open() && (errno == EINVAL || errno == ENOTSUP)) return {};  // some file systems cannot sync such a file
  return Error{ErrorCode::device_failure, path + ": cannot be written: " + std::strerror(errno)};
}

Result<void> write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot be written");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_atomically(const std::string& path, std::string_view text) {
  std::string beside = path + ".XXXXXX";
  FileHandle file(::mkostemp(beside.data(), O_CLOEXEC));
  if (!file.is_open()) return system_error(path + ": cannot be created");
  if (Result<void> written = write_and_sync(file, text); !written) {
    ::unlink(beside.c_str());
    return written.error().within(path);
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    const Error error = system_error(path + ": cannot be replaced");
    ::unlink(beside.c_str());
    return error;
  }
  sync_folder_of(path);
  return {};
}

}  // namespace znni
