#include "client/cpp/connection.hpp"

#include <gtest/gtest.h>

#include "tests/client/fake_daemon.hpp"
#include "tests/proto/tls/made_certificate.hpp"

namespace znni::client {
namespace {

TEST(Connection, LearnsWhatAModelTakes) {
  const FakeDaemon daemon;
  const Result<ModelFacts> model = Connection(daemon.address()).model("crop");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->ready);
  EXPECT_EQ(model->version, "1");
  EXPECT_EQ(model->field_of_view, Vec3::cube(3));
  EXPECT_EQ(model->f_in, 1);
  EXPECT_EQ(model->window, Vec3{}) << "any extent";
  EXPECT_EQ(Connection(daemon.address()).model("bound")->window, (Vec3{9, 6, 8}));
  EXPECT_EQ(model->padding_before, Vec3{});
  EXPECT_EQ(model->period, Vec3::cube(1));
  const FakeDaemon padding(Behaviour::sound, {.properties = {{"padding_before", "1,2,3"},
                                                             {"padding_after", "4,5"},
                                                             {"input_period", "8"},
                                                             {"least_input", "6,7,8"},
                                                             {"window_overlap", "0.25"}}});
  const Result<ModelFacts> facts = Connection(padding.address()).model("crop");
  EXPECT_EQ(facts->padding_before, (Vec3{1, 2, 3}));
  EXPECT_EQ(facts->padding_after, (Vec3{0, 4, 5})) << "of missing axes";
  EXPECT_EQ(facts->period, (Vec3{1, 1, 8}));
  EXPECT_EQ(facts->min_extent, (Vec3{6, 7, 8}));
  EXPECT_EQ(facts->window_overlap, 0.25);
}

TEST(Connection, FieldsOfViewOfFewerAxesCountFromTheLast) {
  const FakeDaemon daemon;
  EXPECT_EQ(Connection(daemon.address()).model("flat")->field_of_view, (Vec3{1, 3, 5}));
  EXPECT_EQ(Connection(daemon.address()).model("line")->field_of_view, (Vec3{1, 1, 7}));
}

TEST(Connection, ListsModels) {
  const FakeDaemon daemon;
  const auto models = Connection(daemon.address()).models();
  ASSERT_TRUE(models);
  EXPECT_EQ(models->at("crop"), "ready");
}

TEST(Connection, AsksWhetherTheDaemonIsReady) {
  const FakeDaemon daemon;
  const Result<bool> ready = Connection(daemon.address()).ready();
  ASSERT_TRUE(ready) << ready.error().message;
  EXPECT_TRUE(*ready);
  EXPECT_EQ(Connection("127.0.0.1:1").ready().error().code, ErrorCode::unavailable);
}

TEST(Connection, UnknownModelIsNotFound) {
  const FakeDaemon daemon;
  const Result<ModelFacts> model = Connection(daemon.address()).model("nothing");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
  EXPECT_NE(model.error().message.find("nothing"), std::string::npos);
}

TEST(Connection, NobodyThereIsOneLineWithTheAddress) {
  const Result<ModelFacts> model = Connection("127.0.0.1:1").model("crop");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::unavailable);
  EXPECT_EQ(model.error().message.find("no answer from 127.0.0.1:1: "), 0U) << model.error().message;
  EXPECT_EQ(model.error().message.find('\n'), std::string::npos);
}

TEST(Connection, NobodyThereMayBeAMatterOfTls) {
  const auto ends_with = [](const Credentials& credentials, const std::string& end) {
    const std::string message = Connection("127.0.0.1:1", credentials).ready().error().message;
    EXPECT_TRUE(message.ends_with(end)) << message;
  };
  ends_with({}, " (is znnid running there?)");
  ends_with({test::make_certificate(0, 1).certificate, "", "", ""},
            " (is znnid running there, with TLS? does it ask for a client certificate that its --grpc-root-cert "
            "signed?)");
}

}  // namespace
}  // namespace znni::client
