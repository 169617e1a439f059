#include "server/http_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

Options at(const std::string& address) {
  Options options;
  options.metrics_address = address;
  return options;
}

TEST(HttpModels, AreServedWhereOnlyThisMachineComes) {
  EXPECT_EQ(why_no_http_models({}), "") << "the default address";
  for (const char* address : {"127.0.0.1", "127.0.0.9", "::1", "localhost"})
    EXPECT_EQ(why_no_http_models(at(address)), "");
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "metrics.example", "127.0.0.1.example", ""}) {
    EXPECT_THAT(why_no_http_models(at(address)),
                HasSubstr("--metrics-address " + std::string(address) + " is not a loopback"));
    EXPECT_THAT(why_no_http_models(at(address)), HasSubstr("--http-infer on"));
  }
}

TEST(HttpModels, AreNotServedInTheClearBesideTls) {
  Options tls;
  tls.use_ssl = true;
  EXPECT_THAT(why_no_http_models(tls), HasSubstr("gRPC has TLS"));
  Options mutual;
  mutual.use_ssl_mutual = true;
  EXPECT_THAT(why_no_http_models(mutual), HasSubstr("gRPC has TLS"));
}

TEST(HttpModels, AreServedOrNotWhereTheOptionSaysSo) {
  Options on = at("0.0.0.0");
  on.use_ssl = true;
  on.http_models = HttpModels::on;
  EXPECT_EQ(why_no_http_models(on), "");
  Options off;
  off.http_models = HttpModels::off;
  EXPECT_EQ(why_no_http_models(off), "--http-infer is off");
}

TEST(HttpModels, ShareMemoryWhereNoProxyIsExpected) {
  EXPECT_TRUE(has_local_http({}));
  EXPECT_FALSE(has_local_http(at("0.0.0.0")));
  Options on;
  on.http_models = HttpModels::on;
  EXPECT_FALSE(has_local_http(on));
}

}  // namespace
}  // namespace znni
