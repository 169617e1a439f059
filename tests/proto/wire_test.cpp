// Checks what clients of other makers rely on: names, types and field numbers of the Open Inference Protocol, Triton's
// extensions and the health protocol.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/health.pb.h"
#include "proto/inference.pb.h"
#include "proto/volumes.pb.h"

namespace znni {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string type_of(const FieldDescriptor& field) {
  if (field.is_map())
    return "map<" + type_of(*field.message_type()->field(0)) + "," + type_of(*field.message_type()->field(1)) + ">";
  if (field.message_type() != nullptr) return field.message_type()->name();
  return field.enum_type() != nullptr ? field.enum_type()->name() : field.type_name();
}

// Returns "name=1 string, shape=3 int64*".
std::string fields(const Descriptor* message) {
  std::string text;
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor& field = *message->field(i);
    text += (i == 0 ? "" : ", ") + field.name() + "=" + std::to_string(field.number()) + " " + type_of(field) +
            (field.is_repeated() && !field.is_map() ? "*" : "");
  }
  return text;
}

TEST(Wire, CoreMessages) {
  EXPECT_EQ(fields(inference::ServerLiveResponse::descriptor()), "live=1 bool");
  EXPECT_EQ(fields(inference::ServerReadyResponse::descriptor()), "ready=1 bool");
  EXPECT_EQ(fields(inference::ModelReadyRequest::descriptor()), "name=1 string, version=2 string");
  EXPECT_EQ(fields(inference::ServerMetadataResponse::descriptor()),
            "name=1 string, version=2 string, extensions=3 string*");
  EXPECT_EQ(fields(inference::ModelMetadataResponse::descriptor()),
            "name=1 string, versions=2 string*, platform=3 string, inputs=4 TensorMetadata*, "
            "outputs=5 TensorMetadata*, properties=6 map<string,string>");
  EXPECT_EQ(fields(inference::ModelMetadataResponse::TensorMetadata::descriptor()),
            "name=1 string, datatype=2 string, shape=3 int64*");
  EXPECT_EQ(
      fields(inference::InferParameter::descriptor()),
      "bool_param=1 bool, int64_param=2 int64, string_param=3 string, double_param=4 double, uint64_param=5 uint64");
  EXPECT_EQ(fields(inference::InferTensorContents::descriptor()),
            "bool_contents=1 bool*, int_contents=2 int32*, int64_contents=3 int64*, uint_contents=4 uint32*, "
            "uint64_contents=5 uint64*, fp32_contents=6 float*, fp64_contents=7 double*, bytes_contents=8 bytes*");
  EXPECT_EQ(fields(inference::ModelInferRequest::descriptor()),
            "model_name=1 string, model_version=2 string, id=3 string, parameters=4 map<string,InferParameter>, "
            "inputs=5 InferInputTensor*, outputs=6 InferRequestedOutputTensor*, raw_input_contents=7 bytes*");
  const std::string tensor =
      "name=1 string, datatype=2 string, shape=3 int64*, parameters=4 map<string,InferParameter>, "
      "contents=5 InferTensorContents";
  EXPECT_EQ(fields(inference::ModelInferRequest::InferInputTensor::descriptor()), tensor);
  EXPECT_EQ(fields(inference::ModelInferResponse::InferOutputTensor::descriptor()), tensor);
  EXPECT_EQ(fields(inference::ModelInferRequest::InferRequestedOutputTensor::descriptor()),
            "name=1 string, parameters=2 map<string,InferParameter>");
  EXPECT_EQ(fields(inference::ModelInferResponse::descriptor()),
            "model_name=1 string, model_version=2 string, id=3 string, parameters=4 map<string,InferParameter>, "
            "outputs=5 InferOutputTensor*, raw_output_contents=6 bytes*");
}

TEST(Wire, Extensions) {
  EXPECT_EQ(fields(inference::ModelStreamInferResponse::descriptor()),
            "error_message=1 string, infer_response=2 ModelInferResponse");
  EXPECT_EQ(fields(inference::ModelConfigResponse::descriptor()), "config=1 ModelConfig");
  EXPECT_EQ(fields(inference::ModelStatistics::descriptor()),
            "name=1 string, version=2 string, last_inference=3 uint64, inference_count=4 uint64, "
            "execution_count=5 uint64, inference_stats=6 InferStatistics, batch_stats=7 InferBatchStatistics*, "
            "memory_usage=8 MemoryUsage*, response_stats=9 map<string,InferResponseStatistics>");
  EXPECT_EQ(fields(inference::StatisticDuration::descriptor()), "count=1 uint64, ns=2 uint64");
  EXPECT_EQ(fields(inference::RepositoryIndexRequest::descriptor()), "repository_name=1 string, ready=2 bool");
  EXPECT_EQ(fields(inference::RepositoryIndexResponse::ModelIndex::descriptor()),
            "name=1 string, version=2 string, state=3 string, reason=4 string");
  EXPECT_EQ(fields(inference::RepositoryModelLoadRequest::descriptor()),
            "repository_name=1 string, model_name=2 string, parameters=3 map<string,ModelRepositoryParameter>");
  EXPECT_EQ(fields(inference::CudaSharedMemoryRegisterRequest::descriptor()),
            "name=1 string, raw_handle=2 bytes, device_id=3 int64, byte_size=4 uint64");
  EXPECT_EQ(fields(inference::TraceSettingRequest::descriptor()),
            "settings=1 map<string,SettingValue>, model_name=2 string");
  EXPECT_EQ(fields(inference::LogSettingsRequest::SettingValue::descriptor()),
            "bool_param=1 bool, uint32_param=2 uint32, string_param=3 string");
}

TEST(Wire, ModelConfig) {
  EXPECT_EQ(
      fields(inference::ModelConfig::descriptor()),
      "name=1 string, platform=2 string, max_batch_size=4 int32, input=5 ModelInput*, output=6 ModelOutput*, "
      "default_model_filename=8 string, parameters=14 map<string,ModelParameter>, backend=17 string, "
      "model_transaction_policy=19 ModelTransactionPolicy, response_cache=24 ModelResponseCache, runtime=25 string");
  EXPECT_EQ(fields(inference::ModelInput::descriptor()),
            "name=1 string, data_type=2 DataType, format=3 Format, dims=4 int64*, optional=8 bool");
  EXPECT_EQ(fields(inference::ModelOutput::descriptor()), "name=1 string, data_type=2 DataType, dims=3 int64*");
  EXPECT_EQ(inference::TYPE_FP16, 10);
  EXPECT_EQ(inference::TYPE_FP32, 11);
  EXPECT_EQ(inference::TYPE_BF16, 14);
}

TEST(Wire, Methods) {
  const auto* service = inference::ModelInferRequest::descriptor()->file()->FindServiceByName("GRPCInferenceService");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->full_name(), "inference.GRPCInferenceService");
  EXPECT_EQ(service->method_count(), 20);
  for (const char* name :
       {"ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer"}) {
    const auto* method = service->FindMethodByName(name);
    ASSERT_NE(method, nullptr) << name;
    EXPECT_FALSE(method->client_streaming() || method->server_streaming());
    EXPECT_EQ(method->input_type()->name(), std::string(name) + "Request");
    EXPECT_EQ(method->output_type()->name(), std::string(name) + "Response");
  }
  EXPECT_TRUE(service->FindMethodByName("ModelStreamInfer")->client_streaming());
}

TEST(Wire, Health) {
  EXPECT_EQ(fields(grpc::health::v1::HealthCheckRequest::descriptor()), "service=1 string");
  EXPECT_EQ(fields(grpc::health::v1::HealthCheckResponse::descriptor()), "status=1 ServingStatus");
  EXPECT_EQ(grpc::health::v1::HealthCheckResponse::SERVING, 1);
  EXPECT_EQ(grpc::health::v1::HealthCheckResponse::NOT_SERVING, 2);
}

TEST(Wire, Volumes) {
  EXPECT_EQ(v1::VolumeHeader::descriptor()->full_name(), "znni.v1.VolumeHeader");
  EXPECT_EQ(fields(v1::VolumeChunk::descriptor()), "offset=1 int64, data=2 bytes");
  EXPECT_EQ(fields(v1::VolumeOutlook::descriptor()),
            "extent=1 Extent, predicted_seconds=2 double, part=3 Extent, parts=4 int64, "
            "predicted_seconds_in_parts=5 double");
}

}  // namespace
}  // namespace znni
