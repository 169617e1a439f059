#include "server/security.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/tls/made_certificate.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

class SecurityTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    directory_.write(name, text);
    return directory_.path() / name;
  }
  const test::TemporaryDirectory directory_;
  Options options_;
};

TEST_F(SecurityTest, NothingAskedForIsNothing) {
  const Result<Security> security = read_security(options_);
  ASSERT_TRUE(security);
  EXPECT_EQ(security->tokens.infer, "");
  EXPECT_EQ(security->tokens.manage, "");
  EXPECT_FALSE(security->certificates);
}

TEST_F(SecurityTest, TokensAreLinesOfFiles) {
  options_.infer_token_file = write("infer", "0123456789abcdef\n");
  options_.manage_token_file = write("manage", "fedcba9876543210");
  const Result<Security> security = read_security(options_);
  ASSERT_TRUE(security) << security.error().message;
  EXPECT_EQ(security->tokens.infer, "0123456789abcdef");
  EXPECT_EQ(security->tokens.manage, "fedcba9876543210");
}

TEST_F(SecurityTest, TokensThatAreNoneAreRefusedAndNotTold) {
  for (const char* text : {"", "\n", "short-secret\n", "with a blank inside it\n", "two lines of\ntext and more\n"}) {
    options_.infer_token_file = write("infer", text);
    const Result<Security> security = read_security(options_);
    ASSERT_FALSE(security) << text;
    EXPECT_THAT(security.error().message, HasSubstr("infer: found"));
    EXPECT_THAT(security.error().message, Not(HasSubstr("secret")));
  }
  options_.infer_token_file = directory_.path() / "none";
  EXPECT_THAT(read_security(options_).error().message, HasSubstr("none"));
}

TEST_F(SecurityTest, CertificatesAreReadWhereTlsIsAskedFor) {
  const std::time_t now = std::time(nullptr);
  const test::MadeCertificate made = test::make_certificate(now - 100, now + 10'000'000);
  options_.server_cert = write("cert.pem", made.certificate);
  options_.server_key = write("key.pem", made.key);
  EXPECT_FALSE(read_security(options_)->certificates);
  options_.use_ssl = true;
  ASSERT_TRUE(read_security(options_)->certificates);
  EXPECT_EQ(read_security(options_)->certificates->client_authority, "");
  options_.use_ssl_mutual = true;
  options_.root_cert = write("root.pem", "no certificate");
  EXPECT_THAT(read_security(options_).error().message, HasSubstr("root.pem: found no '-----BEGIN'"));
  options_.root_cert = write("root.pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_THAT(read_security(options_).error().message, HasSubstr("root.pem: holds no certificate that can be read"));
  options_.root_cert = write("root.pem", test::make_certificate(now - 200, now - 100).certificate);
  const Result<Security> security = read_security(options_);
  ASSERT_TRUE(security) << security.error().message;
  EXPECT_NE(security->certificates->client_authority, "");
  ASSERT_EQ(security->warnings.size(), 1U);
  EXPECT_THAT(security->warnings.front(), HasSubstr("root.pem: the certificate expired on "));
  options_.server_key = write("key.pem", test::make_certificate(now - 200, now - 100).key);
  EXPECT_THAT(read_security(options_).error().message, HasSubstr("key.pem: is not the key of the certificate in "));
}

}  // namespace
}  // namespace znni
