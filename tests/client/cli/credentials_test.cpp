#include "client/cli/credentials.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

class CredentialsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = scratch_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  Scratch scratch_;
};

TEST_F(CredentialsTest, NoneIsNone) {
  const Result<Credentials> credentials = read_credentials({});
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->token, "");
  EXPECT_EQ(credentials->authority, "");
}

TEST_F(CredentialsTest, FilesAreReadAndATokenIsALine) {
  const Result<Credentials> credentials = read_credentials(
      {write("ca", "authority\n"), write("cert", "c"), write("key", "k"), write("token", "secret\r\n")});
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(credentials->authority, "authority\n");
  EXPECT_EQ(credentials->certificate, "c");
  EXPECT_EQ(credentials->key, "k");
  EXPECT_EQ(credentials->token, "secret");
}

TEST_F(CredentialsTest, WhatCannotBeReadIsNamed) {
  const Result<Credentials> none = read_credentials({"", "", "", scratch_.file("none")});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("--token-file"), std::string::npos);
  EXPECT_NE(none.error().message.find("none"), std::string::npos);
  EXPECT_FALSE(read_credentials({write("empty", ""), "", "", ""}));
}

}  // namespace
}  // namespace znni::client
