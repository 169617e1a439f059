#include "server/certificate_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Validity good;
const Validity old = {"expired on Monday", ""};
const Validity ending = {"", "expires on Friday"};

TEST(CertificateWarnings, NoneOfCertificatesThatAreValid) {
  EXPECT_THAT(certificate_warnings({"cert.pem", ""}, {good, good}, "clients refuse it"), IsEmpty());
}

TEST(CertificateWarnings, FaultsHaveAConsequenceAndNoticesAMend) {
  EXPECT_THAT(certificate_warnings({"cert.pem", ""}, {old}, "clients refuse it"),
              ElementsAre("cert.pem: the certificate expired on Monday: clients refuse it"));
  EXPECT_THAT(certificate_warnings({"cert.pem", ""}, {ending}, "clients refuse it"),
              ElementsAre("cert.pem: the certificate expires on Friday: renew it and restart"));
}

TEST(CertificateWarnings, OfSeveralEachIsLookedAt) {
  EXPECT_THAT(certificate_warnings({"r", ""}, {good, old, ending}, "they are refused"),
              ElementsAre("r: certificate 2 expired on Monday: they are refused",
                          "r: certificate 3 expires on Friday: renew it and restart"));
}

}  // namespace
}  // namespace znni
