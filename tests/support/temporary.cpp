#include "tests/support/temporary.hpp"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "primitives/core/result.hpp"

namespace znni::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "znni-test-XXXXXX").string();
  ensure(mkdtemp(pattern.data()) != nullptr, "cannot make a temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryDirectory::write(const std::filesystem::path& name, std::string_view text) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  ensure(static_cast<bool>(stream.flush()), "cannot write a temporary file");
  return file;
}

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace znni::test
