#include "primitives/core/write_atomically.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(WriteAtomically, WritesAndReplaces) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "file";
  for (const std::string& text : {std::string("first"), std::string("second, longer"), std::string()}) {
    ASSERT_TRUE(write_atomically(path, text));
    EXPECT_EQ(test::read_text(path), text);
    EXPECT_EQ(files_in(folder.path()), 1U);
  }
}

// A file that a kill leaves has six characters of any kind and the ending behind the name.
TEST(WriteAtomically, WhatAKillLeftIsRemovedAndNothingElse) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("file", "text");
  folder.write("file.Ab3xYz.unfinished", "te");
  folder.write("file.backup", "mine");
  folder.write("file.my-own-backup.unfinished", "mine");
  folder.write("other.Ab3xYz.unfinished", "mine");
  remove_unfinished(path);
  EXPECT_EQ(files_in(folder.path()), 4U);
  EXPECT_FALSE(std::filesystem::exists(path + ".Ab3xYz.unfinished"));
  EXPECT_EQ(test::read_text(path), "text");
  remove_unfinished(folder.path() / "none" / "file");
}

TEST(WriteAtomically, ReadableByAll) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "file";
  ASSERT_TRUE(write_atomically(path, "text"));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0644));
}

TEST(WriteAtomically, WhereItCannotWrite) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "no such folder" / "file";
  const Result<void> written = write_atomically(path, "text");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, StartsWith(path + ": cannot be created: "));
}

TEST(WriteAtomically, LeavesNothingBehindWhenItFails) {
  const test::TemporaryDirectory folder;
  folder.write("occupied/inside", "");
  const std::string path = folder.path() / "occupied";
  const Result<void> written = write_atomically(path, "text");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(": cannot be replaced: "));
  EXPECT_EQ(files_in(folder.path()), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "occupied" / "inside"));
}

TEST(WriteAtomically, FilesAndFoldersAreSynced) {
  const test::TemporaryDirectory folder;
  folder.write("file", "text");
  EXPECT_TRUE(sync_file(folder.path() / "file"));
  EXPECT_TRUE(sync_file(folder.path()));
  const std::string none = folder.path() / "none";
  const Result<void> synced = sync_file(none);
  ASSERT_FALSE(synced);
  EXPECT_THAT(synced.error().message, StartsWith(none + ": cannot be written: "));
}

TEST(WriteAtomically, WriteAllSaysWhy) {
  EXPECT_THAT(write_all(-1, "text").error().message, StartsWith("cannot be written: "));
  EXPECT_TRUE(write_all(-1, ""));
}

// The test may run as root, for whom a rename over a device would succeed.
TEST(WriteAtomically, AStreamIsWrittenAndStaysOne) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int end = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(end, 0);
  ASSERT_TRUE(write_atomically(path, "text"));
  std::array<char, 8> found{};
  EXPECT_EQ(::read(end, found.data(), found.size()), 4);
  ::close(end);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

}  // namespace
}  // namespace znni
