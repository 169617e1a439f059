#include "server/rpc/inference/model_questions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ModelQuestionsTest : public testing::Test {
 protected:
  static FrontDoorLimits limits() {
    FrontDoorLimits limits;
    limits.server_version = "1.2";
    return limits;
  }
  void expect_refused(const Result<bool>& ready, ErrorCode code, const std::string& part) {
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code, code);
    EXPECT_THAT(ready.error().message, HasSubstr(part));
  }

  FakeModelServer models_;
  FrontDoor door_{models_, [](const CallRecord&) {}, limits(), Tokens{}};
};

TEST_F(ModelQuestionsTest, FindsTheNewestVersionOrTheOneNamed) {
  EXPECT_EQ(find_model("twice", "", models_)->version, "2");
  EXPECT_EQ(find_model("twice", "1", models_)->version, "1");
  EXPECT_EQ(find_model("none", "", models_).error().code, ErrorCode::not_found);
  EXPECT_EQ(find_model("twice", "x", models_).error().code, ErrorCode::invalid_argument);
}

TEST_F(ModelQuestionsTest, AModelIsReadyWhereItWouldTakeARequest) {
  EXPECT_TRUE(*is_model_ready(door_, "twice", ""));
  EXPECT_TRUE(*is_model_ready(door_, "twice", "1"));
  EXPECT_FALSE(*is_model_ready(door_, "broken", "")) << "known, and not ready";
  door_.retired = true;
  EXPECT_FALSE(*is_model_ready(door_, "twice", ""));
  expect_refused(is_model_ready(door_, "none", ""), ErrorCode::not_found, "unknown model");
  expect_refused(is_model_ready(door_, "twice", "9"), ErrorCode::not_found, "unknown model");
  expect_refused(is_model_ready(door_, "twice", "x"), ErrorCode::invalid_argument, "'x'");
}

TEST_F(ModelQuestionsTest, MetadataIsThatOfAllVersions) {
  const Result<inference::ModelMetadataResponse> metadata = model_metadata(door_, "twice", "1");
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->name(), "twice");
  EXPECT_THAT(metadata->versions(), ElementsAre("1", "2"));
  EXPECT_EQ(model_metadata(door_, "none", "").error().code, ErrorCode::not_found);
}

TEST_F(ModelQuestionsTest, TheServerTellsWhatItOffers) {
  EXPECT_EQ(server_metadata(door_).name(), "znni");
  EXPECT_EQ(server_metadata(door_).version(), "1.2");
  EXPECT_THAT(server_metadata(door_).extensions(), Contains("binary_tensor_data"));
  EXPECT_THAT(server_metadata(door_).extensions(), Not(Contains("system_shared_memory")));
  FrontDoorLimits more = limits();
  more.offer_shared_memory = more.model_control = true;
  const FrontDoor wide(
      models_, [](const CallRecord&) {}, more, Tokens{});
  EXPECT_THAT(server_metadata(wide).extensions(), Contains("system_shared_memory"));
  EXPECT_THAT(server_metadata(wide).extensions(), Contains("model_repository"));
}

}  // namespace
}  // namespace znni::rpc
