#include "server/rpc/inference/open_inference.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/impl/client_unary_call.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/open_inference_fixture.hpp"
#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(OpenInferenceTest, InferAnswers) {
  const grpc::Status status = infer(twice_request());
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.id(), "job-1");
  expect_alive();
}

TEST_F(OpenInferenceTest, LiveAndReady) {
  grpc::ClientContext live_context;
  inference::ServerLiveResponse live;
  ASSERT_TRUE(stub_->ServerLive(&live_context, {}, &live).ok());
  EXPECT_TRUE(live.live());
  for (const bool is_ready : {true, false}) {
    models_.is_ready = is_ready;
    grpc::ClientContext context;
    inference::ServerReadyResponse ready;
    ASSERT_TRUE(stub_->ServerReady(&context, {}, &ready).ok());
    EXPECT_EQ(ready.ready(), is_ready);
  }
}

TEST_F(OpenInferenceTest, ModelReady) {
  const auto ask = [this](const std::string& name, const std::string& version) {
    grpc::ClientContext context;
    inference::ModelReadyRequest request;
    request.set_name(name);
    request.set_version(version);
    inference::ModelReadyResponse response;
    const grpc::Status status = stub_->ModelReady(&context, request, &response);
    return std::pair(status.error_code(), response.ready());
  };
  EXPECT_EQ(ask("twice", ""), std::pair(StatusCode::OK, true));
  EXPECT_EQ(ask("twice", "1"), std::pair(StatusCode::OK, true));
  EXPECT_EQ(ask("broken", ""), std::pair(StatusCode::OK, false));
  models_.unloaded = true;
  EXPECT_EQ(ask("broken", ""), std::pair(StatusCode::OK, false));
  EXPECT_EQ(ask("broken", "1"), std::pair(StatusCode::OK, false));
  EXPECT_EQ(ask("broken", "2").first, StatusCode::NOT_FOUND);
  EXPECT_EQ(ask("none", ""), std::pair(StatusCode::NOT_FOUND, false));
  EXPECT_EQ(ask("twice", "9"), std::pair(StatusCode::NOT_FOUND, false));
  EXPECT_EQ(ask("twice", "x"), std::pair(StatusCode::INVALID_ARGUMENT, false));
}

TEST_F(OpenInferenceTest, Metadata) {
  grpc::ClientContext server_context;
  inference::ServerMetadataResponse server;
  ASSERT_TRUE(stub_->ServerMetadata(&server_context, {}, &server).ok());
  EXPECT_EQ(server.name(), "znni");
  EXPECT_THAT(server.extensions(), testing::Contains("statistics"));

  grpc::ClientContext context;
  inference::ModelMetadataRequest request;
  request.set_name("twice");
  inference::ModelMetadataResponse metadata;
  ASSERT_TRUE(stub_->ModelMetadata(&context, request, &metadata).ok());
  EXPECT_THAT(metadata.versions(), ElementsAre("1", "2"));
  EXPECT_EQ(metadata.properties().at("max_request_bytes"), std::to_string(4 << 20));

  grpc::ClientContext unknown_context;
  request.set_name("none");
  EXPECT_EQ(stub_->ModelMetadata(&unknown_context, request, &metadata).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(OpenInferenceTest, ConfigStatisticsAndIndex) {
  grpc::ClientContext config_context;
  inference::ModelConfigRequest config_request;
  config_request.set_name("twice");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(stub_->ModelConfig(&config_context, config_request, &config).ok());
  EXPECT_EQ(config.config().name(), "twice");

  grpc::ClientContext statistics_context;
  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(stub_->ModelStatistics(&statistics_context, {}, &statistics).ok());
  EXPECT_EQ(statistics.model_stats_size(), 5);

  for (const auto& [only_ready, count] : {std::pair(false, 5), std::pair(true, 4)}) {
    grpc::ClientContext context;
    inference::RepositoryIndexRequest request;
    request.set_ready(only_ready);
    inference::RepositoryIndexResponse index;
    ASSERT_TRUE(stub_->RepositoryIndex(&context, request, &index).ok());
    EXPECT_EQ(index.models_size(), count);
  }
}

TEST_F(OpenInferenceTest, ErrorsHaveTheirCodes) {
  inference::ModelInferRequest request = twice_request();
  request.set_model_name("none");
  EXPECT_EQ(infer(request).error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(infer(request).error_message(), HasSubstr("Request for unknown model"));
  request = twice_request();
  request.set_model_version("two");
  EXPECT_EQ(infer(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request = twice_request();
  request.set_model_name("broken");
  EXPECT_EQ(infer(request).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(infer(twice_request({2, 2, 2})).error_code(), StatusCode::INVALID_ARGUMENT);
  request = twice_request();
  request.clear_raw_input_contents();
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_byte_size"].set_int64_param(480);
  EXPECT_EQ(infer(request).error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(infer({}).error_code(), StatusCode::NOT_FOUND);
  models_.fail_with(Error{ErrorCode::unavailable, "the queue is full"});
  EXPECT_EQ(infer(twice_request()).error_code(), StatusCode::UNAVAILABLE);
  models_.fail_with({});
  expect_alive();
}

TEST_F(OpenInferenceTest, ARequestOverTheLimitIsRefusedByTheLibrary) {
  const grpc::Status status = infer(twice_request({150, 150, 150}));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
  expect_alive();
}

TEST_F(OpenInferenceTest, TheLimitOfARequestHoldsToTheByte) {
  ListenOptions small_messages = options();
  small_messages.max_message_bytes = 480;
  connect(small_messages);
  EXPECT_TRUE(infer(twice_request()).ok()) << "of 480 bytes";
  const grpc::Status status = infer(twice_request({6, 5, 5}));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("the request has 600 bytes of voxels, at most 480 are taken"));
  const grpc::Status longer = infer(twice_request({100, 120, 100}));
  EXPECT_EQ(longer.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(longer.error_message(), HasSubstr("bytes, at most 480 of voxels are taken in one message"));
  ASSERT_TRUE(test::wait_until([this] { return records().size() == 3; }));
  EXPECT_EQ(records()[1].refusal, "too_large");
  EXPECT_EQ(records()[2].refusal, "too_large");
}

TEST_F(OpenInferenceTest, AResponseOverTheLimitIsRefusedBeforeComputing) {
  // 3 MB of bytes become 2 channels of 11 MB.
  const grpc::Status status = infer(twice_request({150, 150, 130}, ElementType::u8, "UINT8"));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 4194304"));
  EXPECT_EQ(models_.leased(), 0);
  expect_alive();
}

TEST_F(OpenInferenceTest, AHugeShapeIsRefusedNotAllocated) {
  inference::ModelInferRequest request = twice_request();
  for (int axis = 2; axis < 5; ++axis) request.mutable_inputs(0)->set_shape(axis, std::int64_t{1} << 40);
  EXPECT_EQ(infer(request).error_code(), StatusCode::INVALID_ARGUMENT);
  expect_alive();
}

TEST_F(OpenInferenceTest, GarbageIsNotTheServersEnd) {
  const grpc::internal::RpcMethod method("/inference.GRPCInferenceService/ModelInfer",
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Slice slice("\xff\xff\xff\xff no message");
  const grpc::ByteBuffer garbage(&slice, 1);
  grpc::ByteBuffer answer;
  grpc::ClientContext context;
  const grpc::Status status = grpc::internal::BlockingUnaryCallImpl<grpc::ByteBuffer, grpc::ByteBuffer>(
                                  channel_.get(), method, &context, garbage, &answer)
                                  .status();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  expect_alive();
}

TEST_F(OpenInferenceTest, LogSettingsAreRead) {
  grpc::ClientContext context;
  inference::LogSettingsRequest request;
  inference::LogSettingsResponse response;
  ASSERT_TRUE(stub_->LogSettings(&context, request, &response).ok());
  EXPECT_TRUE(response.settings().at("log_info").bool_param());
  EXPECT_EQ(response.settings().at("log_format").string_param(), "text");
  grpc::ClientContext second;
  (*request.mutable_settings())["log_info"].set_bool_param(false);
  EXPECT_EQ(stub_->LogSettings(&second, request, &response).error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(OpenInferenceTest, SharedMemoryIsOffUnlessAllowed) {
  grpc::ClientContext context;
  inference::SystemSharedMemoryStatusResponse status;
  EXPECT_EQ(stub_->SystemSharedMemoryStatus(&context, {}, &status).error_code(), StatusCode::UNIMPLEMENTED);
  grpc::ClientContext second;
  inference::SystemSharedMemoryUnregisterResponse gone;
  EXPECT_EQ(stub_->SystemSharedMemoryUnregister(&second, {}, &gone).error_code(), StatusCode::UNIMPLEMENTED);
}

// Returns an address of this machine that is not a loopback address; "" if it has none.
std::string outward_address() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (ntohl(address.s_addr) >> 24 != 127) return inet_ntoa(address);
  }
  return {};
}

class SharedMemoryOverTheWireTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions with = options();
    with.address = "0.0.0.0";
    with.offer_shared_memory = true;
    connect(with);
  }
  grpc::Status add() {
    grpc::ClientContext context;
    inference::SystemSharedMemoryRegisterRequest request;
    request.set_name("r");
    request.set_key(memory_.key());
    request.set_byte_size(4096);
    inference::SystemSharedMemoryRegisterResponse response;
    return stub_->SystemSharedMemoryRegister(&context, request, &response);
  }
  // Returns a request with its input in the region.
  static inference::ModelInferRequest shared_request() {
    inference::ModelInferRequest request = twice_request();
    request.clear_raw_input_contents();
    (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
    (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_byte_size"].set_int64_param(480);
    return request;
  }
  const SharedMemoryFile memory_{4096};
};

TEST_F(SharedMemoryOverTheWireTest, RegisterUseUnregister) {
  EXPECT_TRUE(add().ok());
  EXPECT_EQ(add().error_code(), StatusCode::ALREADY_EXISTS);
  memory_.write(0, input_bytes({1, {6, 5, 4}, ElementType::f32, VolumeOrder::channel_major}));
  EXPECT_TRUE(infer(shared_request()).ok());
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  grpc::ClientContext context;
  inference::SystemSharedMemoryUnregisterResponse gone;
  EXPECT_TRUE(stub_->SystemSharedMemoryUnregister(&context, {}, &gone).ok());
  EXPECT_EQ(infer(shared_request()).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(SharedMemoryOverTheWireTest, ClientsFromElsewhereNeitherRegisterNorUseIt) {
  const std::string outward = outward_address();
  if (outward.empty()) GTEST_SKIP() << "this machine has loopback addresses only";
  ASSERT_TRUE(add().ok());
  const std::unique_ptr<inference::GRPCInferenceService::Stub> local = std::move(stub_);
  stub_ = inference::GRPCInferenceService::NewStub(
      grpc::CreateChannel(outward + ":" + std::to_string(server_->port()), grpc::InsecureChannelCredentials()));
  EXPECT_EQ(add().error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(add().error_message(), HasSubstr("loopback address"));
  EXPECT_EQ(infer(shared_request()).error_code(), StatusCode::UNIMPLEMENTED);
  grpc::ClientContext status_context;
  inference::SystemSharedMemoryStatusResponse status;
  EXPECT_EQ(stub_->SystemSharedMemoryStatus(&status_context, {}, &status).error_code(), StatusCode::UNIMPLEMENTED);
  grpc::ClientContext context;
  inference::SystemSharedMemoryUnregisterResponse gone;
  EXPECT_EQ(stub_->SystemSharedMemoryUnregister(&context, {}, &gone).error_code(), StatusCode::UNIMPLEMENTED);
  expect_alive();
  grpc::ClientContext local_context;
  ASSERT_TRUE(local->SystemSharedMemoryStatus(&local_context, {}, &status).ok());
  EXPECT_EQ(status.regions_size(), 1);
}

class ModelControlTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions with = options();
    with.model_control = true;
    connect(with);
  }
  grpc::Status load(const std::string& name, bool with_parameter = false) {
    grpc::ClientContext context;
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(name);
    if (with_parameter) (*request.mutable_parameters())["config"].set_string_param("{}");
    inference::RepositoryModelLoadResponse response;
    return stub_->RepositoryModelLoad(&context, request, &response);
  }
  grpc::Status unload(const std::string& name) {
    grpc::ClientContext context;
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name(name);
    inference::RepositoryModelUnloadResponse response;
    return stub_->RepositoryModelUnload(&context, request, &response);
  }
};

TEST_F(ModelControlTest, ModelsAreLoadedAndUnloaded) {
  EXPECT_TRUE(load("twice").ok());
  EXPECT_TRUE(unload("twice").ok());
  EXPECT_EQ(models_.managed(), "+twice-twice");
  EXPECT_EQ(load("none").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(unload("none").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(load("broken").error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(ModelControlTest, FilesOfClientsAreNotTaken) {
  const grpc::Status status = load("twice", true);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("as they are in the repository"));
  EXPECT_EQ(models_.managed(), "");
}

TEST_F(OpenInferenceTest, ModelsAreLoadedByHandOnlyWhereAskedFor) {
  grpc::ClientContext context;
  inference::RepositoryModelLoadResponse response;
  const grpc::Status status = stub_->RepositoryModelLoad(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("--model-control-mode explicit"));
}

class TokensTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions with = options();
    with.tokens = {"infer-infer-infer", "manage-manage-manage"};
    connect(with);
  }
  StatusCode ask(const std::string& authorization) {
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    return stub_->ModelInfer(&context, twice_request(), &response_).error_code();
  }
};

TEST_F(TokensTest, CallsNeedOne) {
  EXPECT_EQ(ask(""), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(records().back().refusal, "unauthenticated");
  EXPECT_EQ(ask("Bearer infer-infer-infex"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ask("infer-infer-infer"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ask("Bearer infer-infer-infer"), StatusCode::OK);
  EXPECT_EQ(ask("Bearer manage-manage-manage"), StatusCode::OK);
  grpc::ClientContext context;
  inference::RepositoryIndexResponse index;
  EXPECT_EQ(stub_->RepositoryIndex(&context, {}, &index).error_code(), StatusCode::UNAUTHENTICATED);
}

TEST_F(TokensTest, ManagementHasATokenOfItsOwn) {
  const auto load = [this](const std::string& authorization) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", authorization);
    inference::RepositoryModelLoadResponse response;
    return stub_->RepositoryModelLoad(&context, {}, &response).error_code();
  };
  EXPECT_EQ(load("Bearer infer-infer-infer"), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(load("Bearer manage-manage-manage"), StatusCode::UNIMPLEMENTED) << "it may, but the daemon does not";
}

TEST_F(TokensTest, ProbesNeedNone) {
  grpc::ClientContext context;
  inference::ServerReadyResponse ready;
  ASSERT_TRUE(stub_->ServerReady(&context, {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
}

TEST_F(OpenInferenceTest, OfCudaMemoryThereIsNone) {
  inference::CudaSharedMemoryStatusRequest asked;
  inference::CudaSharedMemoryStatusResponse regions;
  EXPECT_TRUE(stub_->CudaSharedMemoryStatus(std::make_unique<grpc::ClientContext>().get(), asked, &regions).ok());
  asked.set_name("weights");
  grpc::ClientContext one;
  EXPECT_EQ(stub_->CudaSharedMemoryStatus(&one, asked, &regions).error_code(), StatusCode::NOT_FOUND);
  grpc::ClientContext unregister;
  inference::CudaSharedMemoryUnregisterResponse unregistered;
  EXPECT_TRUE(stub_->CudaSharedMemoryUnregister(&unregister, {}, &unregistered).ok());
  grpc::ClientContext add;
  inference::CudaSharedMemoryRegisterResponse registered;
  const grpc::Status refused = stub_->CudaSharedMemoryRegister(&add, {}, &registered);
  EXPECT_EQ(refused.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("CUDA shared memory is not offered"));
}

TEST_F(OpenInferenceTest, TracingIsOffAndCannotBeTurnedOn) {
  inference::TraceSettingRequest request;
  inference::TraceSettingResponse response;
  grpc::ClientContext ask;
  ASSERT_TRUE(stub_->TraceSetting(&ask, request, &response).ok());
  EXPECT_EQ(response.settings().at("trace_level").value(0), "OFF");
  EXPECT_EQ(response.settings_size(), 5);
  (*request.mutable_settings())["trace_level"].add_value("TIMESTAMPS");
  grpc::ClientContext change;
  const grpc::Status refused = stub_->TraceSetting(&change, request, &response);
  EXPECT_EQ(refused.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("tracing is off"));
}

TEST_F(OpenInferenceTest, EveryCallIsRecordedWithItsId) {
  inference::ModelInferRequest request = twice_request();
  request.set_id("job 7\ncode=OK");
  ASSERT_TRUE(infer(request).ok());
  request.set_model_name("none");
  EXPECT_FALSE(infer(request).ok());
  while (records().size() < 2) std::this_thread::yield();
  EXPECT_EQ(records()[0].method, "ModelInfer");
  EXPECT_EQ(records()[0].model, "twice");
  EXPECT_EQ(records()[0].id, "job 7 code=OK");
  EXPECT_EQ(records()[0].code, "OK");
  EXPECT_EQ(records()[0].reason, "");
  EXPECT_EQ(records()[0].version, "2");
  EXPECT_EQ(records()[0].voxels, 24);
  EXPECT_GE(records()[0].bytes_in, 480);
  EXPECT_GE(records()[0].bytes_out, 192);
  EXPECT_EQ(records()[0].queue_seconds, 0.625);
  EXPECT_EQ(records()[0].compute_seconds, 0.125);
  EXPECT_EQ(records()[1].code, "NOT_FOUND");
  EXPECT_EQ(records()[1].refusal, "not_found");
  EXPECT_EQ(records()[1].version, "");
  EXPECT_THAT(records()[1].reason, HasSubstr("Request for unknown model"));
}

}  // namespace
}  // namespace znni::rpc
