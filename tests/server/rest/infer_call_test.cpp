#include "server/rest/infer_call.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <list>

#include "server/rpc/inference/shared_memory.hpp"
#include "tests/server/rest/rest_fixture.hpp"
#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rest {
namespace {

using rpc::FakeModelServer;
using rpc::TcpClient;
using testing::HasSubstr;

constexpr VolumeShape whole_output = {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};

class InferCallTest : public RestTest {
 protected:
  [[nodiscard]] httplib::Result infer_twice() const { return infer_binary(binary_request(480), voxels()); }
  void expect_alive() const {
    const httplib::Result answer = infer_twice();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
  }
  // Returns the bytes behind the JSON of a binary answer.
  [[nodiscard]] static std::string voxels_of(const httplib::Result& answer) {
    return answer->body.substr(std::stoul(answer->get_header_value("Inference-Header-Content-Length")));
  }
  // Waits until the only turn to receive is taken, or free.
  void wait_until_turn_is(bool taken) const {
    std::stop_source stopped;
    stopped.request_stop();
    while (server_->front_door().receiving.wait(stopped.get_token()).has_value() == taken) std::this_thread::yield();
  }
};

TEST_F(InferCallTest, BinaryVoxelsBothWays) {
  const httplib::Result answer = infer_twice();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/octet-stream");
  EXPECT_TRUE(rpc::is_twice(voxels_of(answer), whole_output));
  const Json json = Json::parse(answer->body.substr(0, answer->body.size() - voxels_of(answer).size()));
  EXPECT_EQ(json["model_name"], "twice");
  EXPECT_EQ(json["model_version"], "2");
  EXPECT_EQ(json["id"], "job-1");
  EXPECT_EQ(json["outputs"][0]["shape"], Json({1, 2, 4, 3, 2}));
  EXPECT_EQ(json["outputs"][0]["parameters"]["binary_data_size"], 2 * 4 * 3 * 2 * 4);
}

TEST_F(InferCallTest, NumbersBothWays) {
  std::vector<float> input(6 * 5 * 4);
  std::memcpy(input.data(), voxels().data(), input.size() * sizeof(float));
  const Json request = {
      {"inputs", {{{"name", "raw"}, {"datatype", "FP32"}, {"shape", {1, 1, 6, 5, 4}}, {"data", input}}}}};
  const httplib::Result answer = infer(request.dump());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->get_header_value("Content-Type"), "application/json");
  const Json json = Json::parse(answer->body);
  const auto output = json["outputs"][0]["data"].get<std::vector<float>>();
  EXPECT_TRUE(
      rpc::is_twice({reinterpret_cast<const char*>(output.data()), output.size() * sizeof(float)}, whole_output));
}

TEST_F(InferCallTest, EveryTypeAndVersion) {
  for (const auto& [datatype, type] : {std::pair("FP32", ElementType::f32), std::pair("FP16", ElementType::f16),
                                       std::pair("UINT8", ElementType::u8), std::pair("UINT16", ElementType::u16)}) {
    const std::string input = voxels(type);
    const httplib::Result answer = infer_binary(binary_request(input.size(), datatype), input);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(voxels_of(answer).size(), 2U * 4 * 3 * 2 * 4);
  }
  const std::string halves = binary_request(480, "FP32", R"({"binary_data_output":true,"output_datatype":"FP16"})");
  EXPECT_EQ(voxels_of(infer_binary(halves, voxels())).size(), 2U * 4 * 3 * 2 * 2);
  const std::string json = binary_request(480);
  const httplib::Result first = post("/v2/models/twice/versions/1/infer", json + voxels(),
                                     {{"Inference-Header-Content-Length", std::to_string(json.size())}});
  EXPECT_THAT(first->body, HasSubstr(R"("model_version":"1")"));
}

TEST_F(InferCallTest, ParametersReachTheJob) {
  const std::string urgent = binary_request(480, "FP32", R"({"binary_data_output":true,"priority":1})");
  EXPECT_EQ(infer_binary(urgent, voxels())->status, 200);
  EXPECT_EQ(models_.last_priority, 1);
}

TEST_F(InferCallTest, VoxelsMayLieInSharedMemoryWhereItIsOffered) {
  const rpc::SharedMemoryFile file(480 + 192);
  file.write(0, voxels());
  const std::string json =
      R"({"inputs":[{"name":"raw","datatype":"FP32","shape":[1,1,6,5,4],"parameters":{"shared_memory_region":"r",)"
      R"("shared_memory_byte_size":480}}],"outputs":[{"name":"probability","parameters":{"shared_memory_region":"r",)"
      R"("shared_memory_offset":480,"shared_memory_byte_size":192}}]})";
  expect_error(infer(json), 501, "shared memory is off");
  rpc::ListenOptions given = options();
  given.offer_shared_memory = true;
  serve(given);
  inference::SystemSharedMemoryRegisterRequest region;
  region.set_name("r");
  region.set_key(file.key());
  region.set_byte_size(480 + 192);
  ASSERT_TRUE(rpc::register_region(region, server_->front_door().regions).ok());
  const httplib::Result answer = infer(json);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(Json::parse(answer->body)["outputs"][0]["parameters"]["shared_memory_region"], "r");
  EXPECT_TRUE(rpc::is_twice(file.read(480, 192), whole_output));
  given.http_shares_memory = false;
  serve(given);
  ASSERT_TRUE(rpc::register_region(region, server_->front_door().regions).ok());
  expect_error(infer(json), 501, "shared memory is off");
}

TEST_F(InferCallTest, ItsRecordIsThatOfOtherCalls) {
  expect_alive();
  const rpc::CallRecord record = record_of(0);
  EXPECT_EQ(record.method, "HttpInfer");
  EXPECT_EQ(record.code, "OK");
  EXPECT_EQ(record.model, "twice");
  EXPECT_EQ(record.version, "2");
  EXPECT_EQ(record.id, "job-1");
  EXPECT_EQ(record.bytes_in, static_cast<std::int64_t>(binary_request(480).size() + 480));
  EXPECT_EQ(record.voxels, 24);
  EXPECT_EQ(record.queue_seconds, 0.625);
  EXPECT_GT(record.receive_seconds, 0);
  wait_until_nothing_is_leased();
}

TEST_F(InferCallTest, OneConnectionBringsManyRequests) {
  httplib::Client client("127.0.0.1", http_->port());
  client.set_keep_alive(true);
  const std::string json = binary_request(480);
  const httplib::Headers headers = {{"Inference-Header-Content-Length", std::to_string(json.size())}};
  for (int i = 0; i < 3; ++i) {
    const httplib::Result good = client.Post("/v2/models/twice/infer", headers, json + voxels(), "application/json");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->status, 200);
    const httplib::Result bad = client.Post("/v2/models/none/infer", headers, json + voxels(), "application/json");
    ASSERT_TRUE(bad);
    EXPECT_EQ(bad->status, 404);
  }
}

TEST_F(InferCallTest, WrongRequestsAreRefusedInOneLine) {
  expect_error(infer("nonsense"), 400, "of the JSON");
  expect_error(infer(""), 400, "of the JSON");
  expect_error(infer(R"({"inputs":[]})"), 400, "0 inputs found, expected one");
  expect_error(infer_binary(binary_request(480, "FP64"), voxels()), 400, "'FP64'");
  expect_error(infer_binary(binary_request(479), voxels()), 400, "480 bytes found behind the JSON, expected 479");
  expect_error(infer_binary(binary_request(480, "UINT8"), voxels()), 400, "480 bytes found, expected 120");
  expect_error(infer("{}", {{"Inference-Header-Content-Length", "9"}}), 400,
               "expected at most the length of the body, 2");
  expect_error(infer_binary(binary_request(480, "FP32", R"({"triton_new":1})"), voxels()), 400, "'triton_new'");
  expect_error(post("/v2/models/none/infer", binary_request(480)), 400, "behind the JSON");
  expect_error(post("/v2/models/none/infer", R"({"id":"x"})"), 404, "Request for unknown model: 'none'");
  EXPECT_EQ(record_of(0).code, "INVALID_ARGUMENT");
  EXPECT_EQ(record_of(0).refusal, "malformed");
  EXPECT_EQ(record_of(9).refusal, "not_found");
  EXPECT_EQ(models_.leased(), 0);
  expect_alive();
}

TEST_F(InferCallTest, BodiesThatAreTooLargeAreReadAndThrownAway) {
  const httplib::Result answer = infer(std::string(6 << 20, ' '));
  expect_error(answer, 413, "a body of 6291456 bytes found, at most");
  EXPECT_EQ(record_of(0).code, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(record_of(0).refusal, "too_large");
  expect_error(infer(std::string(std::size_t{2} << 20, ' ')), 400, "a value of more than 65536 bytes");
}

TEST_F(InferCallTest, WhatThereIsNoMemoryForMayBeTriedAgain) {
  const Result<TransportLease> all = models_.lease(models_.memory().transport_limit);
  ASSERT_TRUE(all);
  expect_error(infer_twice(), 429, "of transport memory");
  EXPECT_EQ(record_of(0).refusal, "memory");
}

// Refuses bodies of unknown length: compressed ones, and those in chunks.
TEST_F(InferCallTest, OtherBodiesAreNotRead) {
  for (const char* header : {"Transfer-Encoding: chunked", "Content-Length: 5\r\nContent-Encoding: gzip"}) {
    const TcpClient client(http_->port());
    client.send("POST /v2/models/twice/infer HTTP/1.1\r\nHost: x\r\n" + std::string(header) + "\r\n\r\n");
    EXPECT_TRUE(client.ends()) << header;
  }
  EXPECT_EQ(record_of(0).code, "UNIMPLEMENTED");
  EXPECT_EQ(record_of(1).code, "UNIMPLEMENTED");
}

TEST_F(InferCallTest, ValuesThatJsonHasNotAreRefused) {
  std::string input = voxels();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(input.data() + 4 * (20 + 4 + 1), &nan, sizeof(nan));
  expect_error(infer_binary(binary_request(480, "FP32", "{}"), input), 501, "not finite numbers");
  EXPECT_EQ(infer_binary(binary_request(480), input)->status, 200);
  EXPECT_EQ(record_of(0).refusal, "unsupported");
}

TEST_F(InferCallTest, TokensAreAskedForBeforeTheBody) {
  rpc::ListenOptions given = options();
  given.tokens = {"0123456789abcdef", ""};
  serve(given);
  const httplib::Result refused = infer_twice();
  expect_error(refused, 401, "authorization: Bearer");
  EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(record_of(0).refusal, "unauthenticated");
  EXPECT_EQ(infer("{}", {{"Authorization", "Bearer 0123456789abcdef"}})->status, 400) << "now it is read";
}

TEST_F(InferCallTest, ATurnIsHeldWhileABodyIsReceived) {
  rpc::ListenOptions given = options();
  given.max_receives = 1;
  serve(given);
  const std::string wire = on_the_wire(binary_request(480), voxels());
  TcpClient slow(http_->port());
  slow.send(wire.substr(0, wire.size() - 100));
  wait_until_turn_is(true);
  slow.close();
  wait_until_turn_is(false);
  EXPECT_EQ(record_of(0).code, "CANCELLED");
  expect_alive();
}

TEST_F(InferCallTest, AClientThatStallsIsAnsweredAndItsTurnFree) {
  rpc::ListenOptions given = options();
  given.max_receives = 1;
  given.silent_seconds = 0.01;
  serve(given);
  const std::string wire = on_the_wire(binary_request(480), voxels());
  const TcpClient slow(http_->port());
  slow.send(wire.substr(0, wire.size() - 100));
  EXPECT_TRUE(slow.ends());
  EXPECT_EQ(record_of(0).code, "DEADLINE_EXCEEDED");
  EXPECT_EQ(record_of(0).refusal, "deadline");
  wait_until_turn_is(false);
}

TEST_F(InferCallTest, AClientThatGoesStopsItsJob) {
  models_.hold(FakeModelServer::Hold::patches);
  TcpClient client(http_->port());
  client.send(on_the_wire(binary_request(480), voxels()));
  models_.wait_for_jobs(1);
  client.close();
  EXPECT_EQ(record_of(0).code, "CANCELLED");
  EXPECT_EQ(models_.stopped_jobs, 1);
  wait_until_nothing_is_leased();
}

TEST_F(InferCallTest, AClientHasHalfOfTheThreads) {
  models_.hold(FakeModelServer::Hold::queue);
  std::list<TcpClient> clients;
  for (int i = 0; i < max_waiting_requests / 2; ++i) {
    clients.emplace_back(http_->port()).send(on_the_wire(binary_request(480), voxels()));
  }
  models_.wait_for_jobs(max_waiting_requests / 2);
  expect_error(infer_twice(), 429, "8 requests of the client 127.0.0.1 are in flight, at most 8");
  EXPECT_EQ(record_of(0).refusal, "client_calls");
  models_.hold(FakeModelServer::Hold::nothing);
}

TEST_F(InferCallTest, AsManyAsHaveThreadsAreInsideAndPagesAreAnsweredBesideThem) {
  rpc::ListenOptions one_client = options();
  one_client.client_share = 1;
  serve(one_client);
  models_.hold(FakeModelServer::Hold::queue);
  std::list<TcpClient> clients;
  for (int i = 0; i < max_waiting_requests; ++i) {
    clients.emplace_back(http_->port()).send(on_the_wire(binary_request(480), voxels()));
  }
  models_.wait_for_jobs(max_waiting_requests);
  expect_error(infer_twice(), 503, "16 requests are in flight");
  EXPECT_EQ(record_of(0).refusal, "calls");
  EXPECT_EQ(get("/livez")->body, "ok\n");
  EXPECT_EQ(get("/v2/health/live")->status, 200);
  models_.hold(FakeModelServer::Hold::nothing);
  httplib::Result answer = infer_twice();
  while (answer && answer->status == 503) answer = infer_twice();  // until one of them has ended
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST_F(InferCallTest, AClosedServerRefusesAndAStoppedOneEndsCalls) {
  rpc::ListenOptions given = options();
  given.max_receives = 1;
  serve(given);
  models_.hold(FakeModelServer::Hold::patches);
  const TcpClient computing(http_->port());
  computing.send(on_the_wire(binary_request(480), voxels()));
  models_.wait_for_jobs(1);
  const std::string wire = on_the_wire(binary_request(480), voxels());
  const TcpClient receiving(http_->port());
  receiving.send(wire.substr(0, wire.size() - 100));
  wait_until_turn_is(true);
  server_->close();
  expect_error(infer_twice(), 503, "shutting down");
  EXPECT_EQ(record_of(0).refusal, "shutting_down");
  server_->stop(0);
  EXPECT_EQ(record_of(1).code, "UNAVAILABLE");
  EXPECT_EQ(record_of(2).code, "UNAVAILABLE");
  http_.reset();
  EXPECT_TRUE(receiving.ends());
}

}  // namespace
}  // namespace znni::rest
