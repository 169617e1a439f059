#include "server/rest/route.hpp"

#include <gtest/gtest.h>

namespace znni::rest {
namespace {

void expect_route(std::string_view path, Question question, const std::string& model = "",
                  const std::string& version = "") {
  const Route route = route_of(path);
  EXPECT_EQ(route.question, question) << path;
  EXPECT_EQ(route.model, model) << path;
  EXPECT_EQ(route.version, version) << path;
}

TEST(Route, PathsOfTheProtocol) {
  expect_route("/v2", Question::server);
  expect_route("/v2/health/live", Question::live);
  expect_route("/v2/health/ready", Question::ready);
  expect_route("/v2/models/net", Question::model, "net");
  expect_route("/v2/models/net/versions/3", Question::model, "net", "3");
  expect_route("/v2/models/net/ready", Question::model_ready, "net");
  expect_route("/v2/models/net/versions/3/ready", Question::model_ready, "net", "3");
  expect_route("/v2/models/net/infer", Question::infer, "net");
  expect_route("/v2/models/net/versions/x/infer", Question::infer, "net", "x");
}

TEST(Route, ASlashAtTheEndChangesNothing) {
  expect_route("/v2/", Question::server);
  expect_route("/v2/health/live/", Question::live);
  expect_route("/v2/health/ready/", Question::ready);
  expect_route("/v2/models/net/", Question::model, "net");
  expect_route("/v2/models/net/versions/3/", Question::model, "net", "3");
  expect_route("/v2/models/net/ready/", Question::model_ready, "net");
  expect_route("/v2/models/net/versions/3/infer/", Question::infer, "net", "3");
}

TEST(Route, AModelMayBeCalledLikeAWordOfThePath) {
  expect_route("/v2/models/infer", Question::model, "infer");
  expect_route("/v2/models/versions/infer", Question::infer, "versions");
}

TEST(Route, OtherPathsAreUnknown) {
  for (const char* path : {"",
                           "/",
                           "v2",
                           "/v1",
                           "//",
                           "/v2//",
                           "/v2/health",
                           "/v2/health/",
                           "/v2/health/other",
                           "/v2/health/live/x",
                           "/v2/models",
                           "/v2/models/",
                           "/v2/models//",
                           "/v2/models//infer",
                           "/v2/models/net//",
                           "/v2/models/net/other",
                           "/v2/models/net/versions",
                           "/v2/models/net/versions/",
                           "/v2/models/net/versions//",
                           "/v2/models/net/versions//infer",
                           "/v2/models/net/versions/3/other",
                           "/v2/models/net/versions/3/infer/x",
                           "/v2/models/net/infer/x",
                           "/v2/repository/index"}) {
    expect_route(path, Question::unknown);
  }
}

}  // namespace
}  // namespace znni::rest
