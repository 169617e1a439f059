#include "server/rest/rest_service.hpp"

#include "tests/server/rest/rest_fixture.hpp"

namespace znni::rest {
namespace {

class RestServiceTest : public RestTest {};

TEST_F(RestServiceTest, TellsOfTheServer) {
  const httplib::Result server = get("/v2");
  ASSERT_TRUE(server);
  EXPECT_EQ(server->status, 200);
  EXPECT_EQ(server->get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(Json::parse(server->body)["name"], "znni");
  EXPECT_EQ(Json::parse(server->body)["extensions"], Json({"parameters", "binary_tensor_data"}));
  EXPECT_EQ(get("/v2/health/live")->body, R"({"live":true})");
  EXPECT_EQ(get("/v2/health/ready")->body, R"({"ready":true})");
  models_.is_ready = false;
  EXPECT_EQ(get("/v2/health/ready")->status, 503);
  EXPECT_EQ(get("/v2/health/ready")->body, R"({"ready":false})");
}

TEST_F(RestServiceTest, TellsOfModels) {
  const httplib::Result model = get("/v2/models/twice");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->status, 200);
  const Json json = Json::parse(model->body);
  EXPECT_EQ(json["versions"], Json({"1", "2"}));
  EXPECT_EQ(json["inputs"][0]["shape"], Json({-1, 1, -1, -1, -1}));
  EXPECT_EQ(Json::parse(get("/v2/models/twice/versions/1")->body)["name"], "twice");
  EXPECT_EQ(get("/v2/models/twice/ready")->body, R"({"name":"twice","ready":true})");
  EXPECT_EQ(get("/v2/models/twice/versions/2/ready")->status, 200);
  EXPECT_EQ(get("/v2/models/broken/ready")->status, 503);
  EXPECT_EQ(get("/v2/models/broken/ready")->body, R"({"name":"broken","ready":false})");
}

TEST_F(RestServiceTest, UnknownModelsAndPathsAreNotFound) {
  expect_error(get("/v2/models/none"), 404, "Request for unknown model: 'none'");
  expect_error(get("/v2/models/none/ready"), 404, "Request for unknown model: 'none'");
  expect_error(get("/v2/models/twice/versions/9/ready"), 404, "Request for unknown model: 'twice'");
  expect_error(get("/v2/models/twice/versions/x"), 400, "version 'x' found, expected a number");
  expect_error(get("/v2/repository/index"), 404, "nothing is at '/v2/repository/index'");
  expect_error(post("/v2/repository/index", "{}"), 404, "nothing is at");
  EXPECT_EQ(get("/v2/models/%0A/ready")->status, 404);
  EXPECT_EQ(post("/v2/models/%0A/infer", "{}")->status, 404);
}

TEST_F(RestServiceTest, QuestionsAreAskedByGetAndInferenceByPost) {
  expect_error(get("/v2/models/twice/infer"), 405, "GET found, expected POST");
  expect_error(post("/v2/models/twice", "{}"), 405, "POST found, expected GET");
  httplib::Client client("127.0.0.1", http_->port());
  const httplib::Result head = client.Head("/v2/health/live");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
}

TEST_F(RestServiceTest, ClosedItTellsWhatAnybodyMayAskAndWhyNoMore) {
  serve(options(), "there is no TLS");
  EXPECT_EQ(get("/v2")->status, 200);
  EXPECT_EQ(get("/v2/health/ready")->status, 200);
  EXPECT_EQ(get("/v2/models/twice/ready")->status, 200);
  expect_error(get("/v2/models/twice"), 403, "models are not served over HTTP: there is no TLS");
  expect_error(infer_binary(binary_request(480), voxels()), 403, "models are not served over HTTP: there is no TLS");
  EXPECT_TRUE(records().empty());
}

TEST_F(RestServiceTest, WebPagesAreNotServed) {
  const httplib::Headers from_a_page = {{"Origin", "http://example.org"}};
  expect_error(infer("{}", from_a_page), 403, "web pages");
  expect_error(get("/v2/models/twice", from_a_page), 403, "web pages");
  EXPECT_EQ(get("/v2/health/live", from_a_page)->status, 200);
}

TEST_F(RestServiceTest, ModelsAskForATokenAndProbesDoNot) {
  rpc::ListenOptions given = options();
  given.tokens = {"0123456789abcdef", ""};
  serve(given);
  EXPECT_EQ(get("/v2/models/twice/ready")->status, 200);
  EXPECT_EQ(get("/v2")->status, 200);
  const httplib::Result refused = get("/v2/models/twice");
  expect_error(refused, 401, "authorization: Bearer");
  EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(get("/v2/models/twice", {{"Authorization", "Bearer 0123456789abcdef"}})->status, 200);
  EXPECT_EQ(get("/v2/models/twice", {{"Authorization", "Bearer 0123456789abcdeX"}})->status, 401);
}

}  // namespace
}  // namespace znni::rest
