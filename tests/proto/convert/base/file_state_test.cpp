#include "proto/convert/base/file_state.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

TEST(FileState, StaysWhileTheFileDoes) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("file", "text");
  const std::optional<FileState> before = file_state(path);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->bytes, 4);
  EXPECT_EQ(test::read_text(path), "text");
  EXPECT_EQ(file_state(path), before);
}

TEST(FileState, IsAnotherWhenTheFileIsReplacedOrChanged) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("file", "text");
  const std::optional<FileState> before = file_state(path);
  const std::string other = folder.write("other", "text");
  std::filesystem::last_write_time(other, std::filesystem::last_write_time(path));
  std::filesystem::rename(other, path);
  EXPECT_NE(file_state(path), before) << "as long, and as old, but another file";
  const std::optional<FileState> replaced = file_state(path);
  folder.write("file", "longer text");
  EXPECT_NE(file_state(path), replaced);
}

TEST(FileState, AFileThatIsNotThereHasNone) {
  const test::TemporaryDirectory folder;
  EXPECT_FALSE(file_state(folder.path() / "none"));
}

}  // namespace
}  // namespace znni
