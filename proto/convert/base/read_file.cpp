#include "proto/convert/base/read_file.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "primitives/core/shape.hpp"

namespace znni {

Result<std::int64_t> bytes_of_regular_file(const std::string& path, std::int64_t max_bytes) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) return Error{ErrorCode::not_found, path + ": no such file"};
  if (!std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::invalid_argument, path + ": not a regular file"};
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (failure) return Error{ErrorCode::invalid_argument, path + ": " + failure.message()};
  if (bytes > static_cast<std::uintmax_t>(max_bytes)) {
    return Error{ErrorCode::unsupported,
                 path + ": has " + std::to_string(bytes) + " bytes; at most " + bytes_text(max_bytes) + " can be read"};
  }
  return static_cast<std::int64_t>(bytes);
}

Result<std::string> read_file(const std::string& path, std::int64_t max_bytes) {
  const Result<std::int64_t> bytes = bytes_of_regular_file(path, max_bytes);
  if (!bytes) return bytes.error();
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::invalid_argument, path + ": cannot be opened: " + std::strerror(errno)};
  std::string content(static_cast<std::size_t>(*bytes), '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad()) return Error{ErrorCode::invalid_argument, path + ": cannot be read: " + std::strerror(errno)};
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

}  // namespace znni
