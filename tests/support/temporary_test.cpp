#include "tests/support/temporary.hpp"

#include <gtest/gtest.h>

namespace znni::test {
namespace {

TEST(TemporaryDirectory, HoldsFilesAndGoesWithThem) {
  std::filesystem::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    const auto file = directory.write("a/b/c.txt", "hello\n");
    EXPECT_EQ(read_text(file), "hello\n");
    EXPECT_TRUE(std::filesystem::is_directory(path / "a/b"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryDirectory, EveryOneIsItsOwn) {
  const TemporaryDirectory a;
  const TemporaryDirectory b;
  EXPECT_NE(a.path(), b.path());
}

}  // namespace
}  // namespace znni::test
