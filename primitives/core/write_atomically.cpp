#include "primitives/core/write_atomically.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "primitives/core/file_handle.hpp"

namespace znni {
namespace {

// A new file is called as the old one, with these behind it.
constexpr std::string_view any_name = ".XXXXXX";
constexpr std::string_view unfinished = ".unfinished";

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

// Returns whether `path` is a device or a pipe, such as /dev/null, which a rename would replace.
bool is_stream(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && (S_ISCHR(facts.st_mode) || S_ISFIFO(facts.st_mode));
}

Result<void> write_to_stream(const std::string& path, std::string_view text) {
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error(path + ": cannot be opened");
  const Result<void> written = write_all(file.get(), text);
  return written ? written : written.error().within(path);
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
  if (is_stream(path)) return write_to_stream(path, text);
  std::string beside = path + std::string(any_name) + std::string(unfinished);
  FileHandle file(::mkostemps(beside.data(), static_cast<int>(unfinished.size()), O_CLOEXEC));
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

void remove_unfinished(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  const std::string begin = fs::path(path).filename().string() + ".";
  const std::size_t size = begin.size() - 1 + any_name.size() + unfinished.size();
  std::error_code ignored;
  fs::directory_iterator it(folder.empty() ? "." : folder, ignored);
  while (!ignored && it != fs::directory_iterator()) {
    const fs::path found = it->path();
    const std::string name = found.filename().string();
    it.increment(ignored);
    if (name.size() == size && name.starts_with(begin) && name.ends_with(unfinished)) ::unlink(found.c_str());
  }
}

}  // namespace znni
