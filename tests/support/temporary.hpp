// A directory of one test; its destructor removes it with its contents.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace znni::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Writes `text` to a file below the directory and makes missing parent folders; returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace znni::test
