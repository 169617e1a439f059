#include "client/cli/credentials.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/client/scratch.hpp"
#include "tests/proto/tls/made_certificate.hpp"

namespace znni::client {
namespace {

constexpr std::time_t now = 1'790'000'000;  // 2026-09-21 14:13:20
constexpr std::time_t day = 24 * 60 * 60;

test::MadeCertificate valid() { return test::make_certificate(now - day, now + day); }
test::MadeCertificate expired() { return test::make_certificate(now - 2 * day, now - day); }

class CredentialsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = scratch_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  // Returns the error of a file of authorities without a certificate of our own.
  std::string error_of_root(const std::string& root) {
    const Result<Credentials> read = read_credentials({write("root", root), "", "", ""}, now);
    return read ? "" : read.error().message;
  }
  // Returns the error of a certificate of our own and its key.
  std::string error_of_own(const std::string& certificate, const std::string& key) {
    const std::string root = write("root", valid().certificate);
    const Result<Credentials> read = read_credentials({root, write("cert", certificate), write("key", key), ""}, now);
    return read ? "" : read.error().message;
  }
  // Returns how an error calls a file.
  [[nodiscard]] std::string called(const std::string& option, const std::string& name) const {
    return option + " " + scratch_.file(name);
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
  const std::string authority = valid().certificate;
  const test::MadeCertificate own = valid();
  const Result<Credentials> credentials = read_credentials(
      {write("ca", authority), write("cert", own.certificate), write("key", own.key), write("token", "secret\r\n")},
      now);
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(credentials->authority, authority);
  EXPECT_EQ(credentials->certificate, own.certificate);
  EXPECT_EQ(credentials->key, own.key);
  EXPECT_EQ(credentials->token, "secret");
}

TEST_F(CredentialsTest, WhatCannotBeReadIsNamed) {
  const Result<Credentials> none = read_credentials({"", "", "", scratch_.file("none")});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("--token-file"), std::string::npos);
  EXPECT_NE(none.error().message.find("none"), std::string::npos);
  EXPECT_FALSE(read_credentials({write("empty", ""), "", "", ""}));
}

TEST_F(CredentialsTest, ARootThatIsNoCertificateIsNamed) {
  const std::string whole = valid().certificate;
  for (const std::string& text : {std::string("junk\n"), whole.substr(0, whole.size() / 2)}) {
    EXPECT_EQ(error_of_root(text),
              called("--tls-root-cert", "root") +
                  ": holds no certificate that can be read; one of an authority, as PEM, is right");
  }
}

TEST_F(CredentialsTest, AKeyInPlaceOfTheRootIsNamed) {
  EXPECT_EQ(error_of_root(valid().key),
            called("--tls-root-cert", "root") +
                ": holds a private key and no certificate that can be read; one of an authority, as PEM, is right");
}

TEST_F(CredentialsTest, ARootThatExpiredIsNamed) {
  EXPECT_EQ(error_of_root(expired().certificate),
            called("--tls-root-cert", "root") +
                ": the certificate expired on 2026-09-20 14:13:20 UTC; one valid now is right");
  EXPECT_EQ(error_of_root(expired().certificate + expired().certificate),
            called("--tls-root-cert", "root") +
                ": the first certificate expired on 2026-09-20 14:13:20 UTC; one valid now is right");
  EXPECT_EQ(error_of_root(expired().certificate + valid().certificate), "") << "one of a collection";
}

TEST_F(CredentialsTest, ACertificateThatIsNoneIsNamed) {
  EXPECT_EQ(error_of_own("junk\n", valid().key),
            called("--tls-cert", "cert") + ": holds no certificate that can be read; one as PEM is right");
}

TEST_F(CredentialsTest, AKeyThatIsNoneIsNamed) {
  EXPECT_EQ(error_of_own(valid().certificate, "junk\n"),
            called("--tls-key", "key") +
                ": holds no private key that can be read; one as PEM, without a passphrase, is right");
}

TEST_F(CredentialsTest, AKeyOfAnotherCertificateIsNamed) {
  EXPECT_EQ(error_of_own(valid().certificate, valid().key),
            called("--tls-key", "key") + ": is not the key of the certificate in " + called("--tls-cert", "cert") +
                "; the one it was made with is right");
}

TEST_F(CredentialsTest, ACertificateThatExpiredIsNamed) {
  const test::MadeCertificate old = expired();
  EXPECT_EQ(
      error_of_own(old.certificate, old.key),
      called("--tls-cert", "cert") + ": the certificate expired on 2026-09-20 14:13:20 UTC; one valid now is right");
  const test::MadeCertificate own = valid();
  EXPECT_EQ(error_of_own(own.certificate + old.certificate, own.key), "") << "behind our own";
}

TEST_F(CredentialsTest, ACertificateThatIsNotValidYetIsNamed) {
  const test::MadeCertificate early = test::make_certificate(now + day, now + 2 * day);
  EXPECT_EQ(error_of_own(early.certificate, early.key),
            called("--tls-cert", "cert") +
                ": the certificate is not valid before 2026-09-22 14:13:20 UTC; one valid now is right");
}

}  // namespace
}  // namespace znni::client
