#include "server/certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/made_certificate.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::time_t now = 1'790'000'000;  // 2026-09-21 14:13:20
constexpr std::time_t day = 24 * 60 * 60;

PemFile named(std::string name, std::string text) { return {std::move(name), std::move(text)}; }

std::vector<std::string> warnings(std::time_t begin, std::time_t end) {
  const test::MadeCertificate made = test::make_certificate(begin, end);
  return check_pair(named("cert.pem", made.certificate), named("key.pem", made.key), now).value();
}

TEST(Certificates, AGoodPairIsGood) { EXPECT_THAT(warnings(now - day, now + 31 * day), IsEmpty()); }

TEST(Certificates, WarnsOfTimesThatAreNotNow) {
  EXPECT_THAT(warnings(now - 2 * day, now - day),
              ElementsAre("cert.pem: the certificate expired on 2026-09-20 14:13:20 UTC: clients refuse it"));
  EXPECT_THAT(warnings(now - day, now + 29 * day),
              ElementsAre("cert.pem: the certificate expires on 2026-10-20 14:13:20 UTC: renew it and restart"));
  EXPECT_THAT(warnings(now + day, now + 90 * day),
              ElementsAre("cert.pem: the certificate is not valid before 2026-09-22 14:13:20 UTC: clients refuse it"));
}

TEST(Certificates, AKeyOfAnotherCertificateIsNamed) {
  const test::MadeCertificate one = test::make_certificate(now - day, now + 90 * day);
  const test::MadeCertificate other = test::make_certificate(now - day, now + 90 * day);
  EXPECT_EQ(check_pair(named("c", one.certificate), named("k", other.key), now).error().message,
            "k: is not the key of the certificate in c; the one it was made with is right");
}

TEST(Certificates, FilesThatHoldSomethingElseAreNamed) {
  const test::MadeCertificate made = test::make_certificate(now - day, now + 90 * day);
  const std::string half = made.certificate.substr(0, made.certificate.size() / 2);
  for (const std::string& text : {std::string(), std::string("-----BEGIN CERTIFICATE-----\n"), half, made.key}) {
    EXPECT_EQ(check_pair(named("c", text), named("k", made.key), now).error().message,
              "c: holds no certificate that can be read; one as PEM is right");
    EXPECT_EQ(check_authorities(named("r", text), now).error().message,
              "r: holds no certificate that can be read; one of an authority, as PEM, is right");
  }
  EXPECT_EQ(check_pair(named("c", made.certificate), named("k", made.certificate), now).error().message,
            "k: holds no private key that can be read; one as PEM, without a passphrase, is right");
}

TEST(Certificates, OfSeveralEachIsLookedAt) {
  const std::string good = test::make_certificate(now - day, now + 90 * day).certificate;
  const std::string old = test::make_certificate(now - 2 * day, now - day).certificate;
  EXPECT_THAT(check_authorities(named("r", good + old), now).value(),
              ElementsAre("r: certificate 2 expired on 2026-09-20 14:13:20 UTC: clients with "
                          "certificates of it are refused"));
}

}  // namespace
}  // namespace znni
