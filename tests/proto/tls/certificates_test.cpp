#include "proto/tls/certificates.hpp"

#include <gtest/gtest.h>

#include "tests/proto/tls/made_certificate.hpp"

namespace znni {
namespace {

constexpr std::time_t now = 1'790'000'000;  // 2026-09-21 14:13:20
constexpr std::time_t day = 24 * 60 * 60;

PemFile named(std::string name, std::string text) { return {std::move(name), std::move(text)}; }

Validity validity(std::time_t begin, std::time_t end) {
  const test::MadeCertificate made = test::make_certificate(begin, end);
  return check_pair(named("c", made.certificate), named("k", made.key), now).value().at(0);
}

TEST(Certificates, AGoodPairIsGood) {
  EXPECT_EQ(validity(now - day, now + 31 * day).fault, "");
  EXPECT_EQ(validity(now - day, now + 31 * day).notice, "");
}

TEST(Certificates, SaysHowTimesAreNotNow) {
  EXPECT_EQ(validity(now - 2 * day, now - day).fault, "expired on 2026-09-20 14:13:20 UTC");
  EXPECT_EQ(validity(now - 2 * day, now - day).notice, "");
  EXPECT_EQ(validity(now + day, now + 90 * day).fault, "is not valid before 2026-09-22 14:13:20 UTC");
  EXPECT_EQ(validity(now - day, now + 29 * day).notice, "expires on 2026-10-20 14:13:20 UTC");
  EXPECT_EQ(validity(now - day, now + 29 * day).fault, "");
}

TEST(Certificates, AKeyOfAnotherCertificateIsNamed) {
  const test::MadeCertificate one = test::make_certificate(now - day, now + 90 * day);
  const test::MadeCertificate other = test::make_certificate(now - day, now + 90 * day);
  EXPECT_EQ(check_pair(named("c", one.certificate), named("k", other.key), now).error().message,
            "k: is not the key of the certificate in c; the one it was made with is right");
}

TEST(Certificates, FilesThatHoldNoCertificateAreNamed) {
  const test::MadeCertificate made = test::make_certificate(now - day, now + 90 * day);
  const std::string half = made.certificate.substr(0, made.certificate.size() / 2);
  for (const std::string& text : {std::string(), std::string("-----BEGIN CERTIFICATE-----\n"), half}) {
    EXPECT_EQ(check_pair(named("c", text), named("k", made.key), now).error().message,
              "c: holds no certificate that can be read; one as PEM is right");
    EXPECT_EQ(check_authorities(named("r", text), now).error().message,
              "r: holds no certificate that can be read; one of an authority, as PEM, is right");
    EXPECT_EQ(check_pair(named("c", made.certificate), named("k", text), now).error().message,
              "k: holds no private key that can be read; one as PEM, without a passphrase, is right");
  }
}

TEST(Certificates, KeysAndCertificatesThatAreSwappedAreNamed) {
  const test::MadeCertificate made = test::make_certificate(now - day, now + 90 * day);
  EXPECT_EQ(check_pair(named("c", made.key), named("k", made.key), now).error().message,
            "c: holds a private key and no certificate that can be read; one as PEM is right");
  EXPECT_EQ(check_authorities(named("r", made.key), now).error().message,
            "r: holds a private key and no certificate that can be read; one of an authority, as PEM, is right");
  EXPECT_EQ(check_pair(named("c", made.certificate), named("k", made.certificate), now).error().message,
            "k: holds a certificate and no private key that can be read; one as PEM, without a passphrase, is right");
}

TEST(Certificates, OfSeveralEachIsLookedAt) {
  const std::string good = test::make_certificate(now - day, now + 90 * day).certificate;
  const std::string old = test::make_certificate(now - 2 * day, now - day).certificate;
  const std::vector<Validity> both = check_authorities(named("r", good + old), now).value();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].fault, "");
  EXPECT_EQ(both[1].fault, "expired on 2026-09-20 14:13:20 UTC");
}

}  // namespace
}  // namespace znni
