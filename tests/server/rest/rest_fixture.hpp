// Serves the protocol over HTTP on a free loopback port, over a fake ModelServer, beside the gRPC server.
#pragma once

#include <gmock/gmock.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "server/metrics/http_server.hpp"
#include "server/rest/rest_service.hpp"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rest {

using Json = nlohmann::json;

class RestTest : public rpc::Loopback {
 protected:
  void SetUp() override { serve(options()); }
  void TearDown() override { http_.reset(); }

  void serve(const rpc::ListenOptions& given, const std::string& closed = "") {
    http_.reset();
    start(given);
    service_.emplace(server_->front_door(), closed);
    HttpPages pages;
    pages.metrics = pages.live = pages.ready = [] { return HttpAnswer{200, "ok\n"}; };
    pages.service = [this](const HttpRequest& request) { return service_->answer(request); };
    HttpLimits patient;  // the service has limits of its own
    patient.idle_timeout = patient.request = std::chrono::hours(1);
    Result<std::unique_ptr<HttpServer>> started = HttpServer::start("127.0.0.1", 0, pages, patient);
    ASSERT_TRUE(started) << started.error().message;
    http_ = *std::move(started);
  }

  [[nodiscard]] httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) const {
    httplib::Client client("127.0.0.1", http_->port());
    client.set_read_timeout(std::chrono::minutes(10));
    return client.Get(path, headers);
  }
  [[nodiscard]] httplib::Result post(const std::string& path, const std::string& body,
                                     const httplib::Headers& headers = {}) const {
    httplib::Client client("127.0.0.1", http_->port());
    client.set_read_timeout(std::chrono::minutes(10));
    return client.Post(path, headers, body, "application/json");
  }
  [[nodiscard]] httplib::Result infer(const std::string& json, const httplib::Headers& headers = {}) const {
    return post("/v2/models/twice/infer", json, headers);
  }
  [[nodiscard]] httplib::Result infer_binary(const std::string& json, const std::string& voxels) const {
    return post("/v2/models/twice/infer", json + voxels,
                {{"Inference-Header-Content-Length", std::to_string(json.size())}});
  }

  // Returns the JSON of a legal request whose voxels follow, `voxel_bytes` of them.
  [[nodiscard]] static std::string binary_request(std::size_t voxel_bytes, const std::string& datatype = "FP32",
                                                  const std::string& parameters = R"({"binary_data_output":true})") {
    return R"({"id":"job-1","inputs":[{"name":"raw","datatype":")" + datatype +
           R"(","shape":[1,1,6,5,4],"parameters":{"binary_data_size":)" + std::to_string(voxel_bytes) +
           R"(}}],"parameters":)" + parameters + "}";
  }
  [[nodiscard]] static std::string voxels(ElementType type = ElementType::f32) {
    return rpc::input_bytes({1, {6, 5, 4}, type, VolumeOrder::channel_major});
  }
  // Returns a request as it travels.
  [[nodiscard]] static std::string on_the_wire(const std::string& json, const std::string& voxels) {
    return "POST /v2/models/twice/infer HTTP/1.1\r\nHost: x\r\nContent-Length: " +
           std::to_string(json.size() + voxels.size()) +
           "\r\nInference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json + voxels;
  }

  static void expect_error(const httplib::Result& answer, int status, const std::string& part) {
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, status) << answer->body;
    EXPECT_EQ(answer->get_header_value("Content-Type"), "application/json");
    const Json json = Json::parse(answer->body, nullptr, false);
    ASSERT_TRUE(json.contains("error")) << answer->body;
    EXPECT_THAT(json["error"].get<std::string>(), testing::HasSubstr(part));
  }

  // Waits for the record of a call, which may come after its answer.
  [[nodiscard]] rpc::CallRecord record_of(std::size_t call) {
    while (records().size() <= call) std::this_thread::yield();
    return records()[call];
  }
  void wait_until_nothing_is_leased() const {
    while (models_.leased() > 0) std::this_thread::yield();
  }

  std::optional<RestService> service_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace znni::rest
