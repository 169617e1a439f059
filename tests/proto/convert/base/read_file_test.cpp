#include "proto/convert/base/read_file.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

TEST(ReadFile, AllBytes) {
  const test::TemporaryDirectory folder;
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(*read_file(folder.write("file", bytes), 4), bytes);
  EXPECT_EQ(*read_file(folder.write("empty", ""), 0), "");
}

TEST(ReadFile, WhatIsNotThere) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.path() / "none";
  EXPECT_EQ(read_file(path, 10).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(path, 10).error().message, path + ": no such file");
}

TEST(ReadFile, FoldersAndDevices) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(read_file(folder.path(), 10).error().message, folder.path().string() + ": not a regular file");
  EXPECT_EQ(read_file("/dev/zero", 10).error().message, "/dev/zero: not a regular file");
}

TEST(ReadFile, LargeFilesAreRefusedWithNumbers) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("file", "12345");
  EXPECT_EQ(read_file(path, 4).error().code, ErrorCode::unsupported);
  EXPECT_NE(read_file(path, 4).error().message.find(path + ": has 5 bytes; at most "), std::string::npos);
}

}  // namespace
}  // namespace znni
