#include "server/rpc/inference/open_inference.hpp"

#include <memory>
#include <utility>

#include "primitives/core/shape.hpp"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/calls/message_wait.hpp"
#include "server/rpc/connections/local_peer.hpp"
#include "server/rpc/connections/peer_address.hpp"
#include "server/rpc/inference/infer_exchange.hpp"
#include "server/rpc/inference/model_questions.hpp"
#include "server/rpc/inference/shared_memory.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferResponse;

using InferStream = OpenInference::InferStream;

// Reads the request, if it is its turn; the turn ends when its memory is leased or free. Returns whether there was one.
Result<bool> read_in_turn(InferStream& stream, const grpc::ServerContext& context, FrontDoor& door, MessageWait& wait,
                          const WatchedCall& call, InferExchange& exchange) {
  const Result<ReceiveTurns::Turn> turn = door.receiving.wait(call.token(), client_of_peer(context.peer()));
  if (!turn) return turn.error();
  grpc::ByteBuffer wire;
  if (!wait.read([&] { return stream.Read(&wire); })) return false;
  exchange.admit(wire, true);
  return true;
}

Result<void> receive(InferStream& stream, grpc::ServerContext& context, FrontDoor& door, InferExchange& exchange) {
  MessageWait wait(door, context, door.limits.wire.max_request_bytes);
  const WatchedCall call = door.watch.watch([&] { return wait.why_to_end(); });
  const Result<bool> read = read_in_turn(stream, context, door, wait, call, exchange);
  if (!read) return call.reason(read.error());
  if (*read) return {};
  return call.reason(wait.why_nothing());
}

// Sends the response; the call's memory is held until it is on its way.
Result<void> send(InferStream& stream, grpc::ServerContext& context, FrontDoor& door,
                  const ModelInferResponse& response) {
  Stall stall(door.limits.seconds_for(static_cast<std::int64_t>(response.ByteSizeLong())));
  const WatchedCall call = door.watch.watch([&] { return gone_or_stalled(context, stall); });
  const Stall::Wait wait(stall);
  if (stream.Write(response)) return {};
  return call.reason({ErrorCode::cancelled, "the caller is gone"});
}

Result<void> serve(InferStream& stream, grpc::ServerContext& context, FrontDoor& door, InferExchange& exchange) {
  if (Result<void> received = receive(stream, context, door, exchange); !received) return received;
  auto response = std::make_unique<ModelInferResponse>();
  if (Result<void> computed = exchange.compute(*response); !computed) return computed;
  const auto bytes = static_cast<std::int64_t>(response->ByteSizeLong());
  Result<void> sent = send(stream, context, door, *response);
  response.reset();
  trim_heap_after(bytes);
  return sent;
}

}  // namespace

OpenInference::OpenInference(FrontDoor& door) : RawService(door) {
  using Self = OpenInference;
  add_small("/inference.GRPCInferenceService/ServerLive", &Self::ServerLive);
  add_small("/inference.GRPCInferenceService/ServerReady", &Self::ServerReady);
  add_small("/inference.GRPCInferenceService/ModelReady", &Self::ModelReady);
  add_small("/inference.GRPCInferenceService/ServerMetadata", &Self::ServerMetadata);
  add_small("/inference.GRPCInferenceService/ModelMetadata", &Self::ModelMetadata);
  add_streamed("/inference.GRPCInferenceService/ModelInfer", &Self::ModelInfer);
  add_stream("/inference.GRPCInferenceService/ModelStreamInfer", &Self::ModelStreamInfer);
  add_small("/inference.GRPCInferenceService/ModelConfig", &Self::ModelConfig);
  add_small("/inference.GRPCInferenceService/ModelStatistics", &Self::ModelStatistics);
  add_small("/inference.GRPCInferenceService/RepositoryIndex", &Self::RepositoryIndex);
  add_small("/inference.GRPCInferenceService/RepositoryModelLoad", &Self::RepositoryModelLoad);
  add_small("/inference.GRPCInferenceService/RepositoryModelUnload", &Self::RepositoryModelUnload);
  add_small("/inference.GRPCInferenceService/LogSettings", &Self::LogSettings);
  add_small("/inference.GRPCInferenceService/SystemSharedMemoryStatus", &Self::SystemSharedMemoryStatus);
  add_small("/inference.GRPCInferenceService/SystemSharedMemoryRegister", &Self::SystemSharedMemoryRegister);
  add_small("/inference.GRPCInferenceService/SystemSharedMemoryUnregister", &Self::SystemSharedMemoryUnregister);
  add_small("/inference.GRPCInferenceService/CudaSharedMemoryStatus", &Self::CudaSharedMemoryStatus);
  add_small("/inference.GRPCInferenceService/CudaSharedMemoryRegister", &Self::CudaSharedMemoryRegister);
  add_small("/inference.GRPCInferenceService/CudaSharedMemoryUnregister", &Self::CudaSharedMemoryUnregister);
  add_small("/inference.GRPCInferenceService/TraceSetting", &Self::TraceSetting);
}

grpc::Status OpenInference::ServerLive(grpc::ServerContext* /*context*/,
                                       const inference::ServerLiveRequest* /*request*/,
                                       inference::ServerLiveResponse* response) {
  response->set_live(true);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ServerReady(grpc::ServerContext* /*context*/,
                                        const inference::ServerReadyRequest* /*request*/,
                                        inference::ServerReadyResponse* response) {
  response->set_ready(door_.ready());
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelReady(grpc::ServerContext* /*context*/, const inference::ModelReadyRequest* request,
                                       inference::ModelReadyResponse* response) {
  const Result<bool> ready = is_model_ready(door_, request->name(), request->version());
  if (!ready) return to_status(ready.error());
  response->set_ready(*ready);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ServerMetadata(grpc::ServerContext* /*context*/,
                                           const inference::ServerMetadataRequest* /*request*/,
                                           inference::ServerMetadataResponse* response) {
  *response = server_metadata(door_);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  Result<inference::ModelMetadataResponse> metadata = model_metadata(door_, request->name(), request->version());
  if (!metadata) return to_status(metadata.error());
  *response = *std::move(metadata);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                                        inference::ModelConfigResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  const Result<ModelInfo> model = find_model(request->name(), request->version(), door_.models);
  if (!model) return to_status(model.error());
  *response->mutable_config() = describe_config(*model);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelStatistics(grpc::ServerContext* context,
                                            const inference::ModelStatisticsRequest* request,
                                            inference::ModelStatisticsResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  std::vector<ModelInfo> models;
  if (request->name().empty()) {
    models = door_.models.models();
  } else {
    const Result<ModelInfo> model = find_model(request->name(), request->version(), door_.models);
    if (!model) return to_status(model.error());
    models = {*model};
  }
  for (const ModelInfo& model : models) {
    *response->add_model_stats() = describe_statistics(model, door_.models.statistics(model.name, model.version));
  }
  return grpc::Status::OK;
}

grpc::Status OpenInference::RepositoryIndex(grpc::ServerContext* context,
                                            const inference::RepositoryIndexRequest* request,
                                            inference::RepositoryIndexResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  for (const ModelInfo& model : door_.models.models()) {
    if (request->ready() && model.state != ModelState::ready) continue;
    *response->add_models() = describe_index(model);
  }
  return grpc::Status::OK;
}

grpc::Status OpenInference::may_manage(const grpc::ServerContext* context) const {
  if (grpc::Status refused = door_.guard.check(*context, Access::manage); !refused.ok()) return refused;
  if (door_.limits.model_control) return grpc::Status::OK;
  return to_status(
      Error{ErrorCode::unsupported,
            "models are loaded at start only (znnid --model-control-mode explicit loads and unloads them)"});
}

grpc::Status OpenInference::RepositoryModelLoad(grpc::ServerContext* context,
                                                const inference::RepositoryModelLoadRequest* request,
                                                inference::RepositoryModelLoadResponse* /*response*/) {
  if (grpc::Status refused = may_manage(context); !refused.ok()) return refused;
  if (request->parameters_size() > 0) {
    return to_status(
        Error{ErrorCode::unsupported, "models are loaded as they are in the repository; expected no parameters"});
  }
  const WatchedCall call = door_.watch.watch([context] { return gone(*context); });
  const Result<void> loaded = door_.models.load(request->model_name(), call.token());
  trim_heap_after(saturated);
  return loaded ? grpc::Status::OK : to_status(call.reason(loaded.error()));
}

grpc::Status OpenInference::RepositoryModelUnload(grpc::ServerContext* context,
                                                  const inference::RepositoryModelUnloadRequest* request,
                                                  inference::RepositoryModelUnloadResponse* /*response*/) {
  if (grpc::Status refused = may_manage(context); !refused.ok()) return refused;
  const WatchedCall call = door_.watch.watch([context] { return gone(*context); });
  const Result<void> unloaded = door_.models.unload(request->model_name(), call.token());
  trim_heap_after(saturated);
  return unloaded ? grpc::Status::OK : to_status(call.reason(unloaded.error()));
}

grpc::Status OpenInference::LogSettings(grpc::ServerContext* context, const inference::LogSettingsRequest* request,
                                        inference::LogSettingsResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  if (request->settings_size() > 0) {
    return to_status(Error{ErrorCode::unsupported, "log settings are fixed at start: see znnid --log-format"});
  }
  auto& settings = *response->mutable_settings();
  settings["log_file"].set_string_param("");  // standard error
  for (const char* level : {"log_info", "log_warning", "log_error"}) settings[level].set_bool_param(true);
  settings["log_verbose_level"].set_uint32_param(0);
  settings["log_format"].set_string_param(door_.limits.json_log ? "json" : "text");
  return grpc::Status::OK;
}

grpc::Status OpenInference::may_share(const grpc::ServerContext* context) const {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  if (!door_.limits.offer_shared_memory) return shared_memory_is_off();
  return is_local_peer(context->peer()) ? grpc::Status::OK : shared_memory_is_local();
}

grpc::Status OpenInference::SystemSharedMemoryStatus(grpc::ServerContext* context,
                                                     const inference::SystemSharedMemoryStatusRequest* request,
                                                     inference::SystemSharedMemoryStatusResponse* response) {
  if (grpc::Status refused = may_share(context); !refused.ok()) return refused;
  return describe_regions(*request, door_.regions, *response);
}

grpc::Status OpenInference::SystemSharedMemoryRegister(grpc::ServerContext* context,
                                                       const inference::SystemSharedMemoryRegisterRequest* request,
                                                       inference::SystemSharedMemoryRegisterResponse* /*response*/) {
  if (grpc::Status refused = may_share(context); !refused.ok()) return refused;
  return register_region(*request, door_.regions);
}

grpc::Status OpenInference::SystemSharedMemoryUnregister(
    grpc::ServerContext* context, const inference::SystemSharedMemoryUnregisterRequest* request,
    inference::SystemSharedMemoryUnregisterResponse* /*response*/) {
  if (grpc::Status refused = may_share(context); !refused.ok()) return refused;
  door_.regions.remove(request->name());
  return grpc::Status::OK;
}

// Answers questions about CUDA's shared memory and its release: there is never any.
grpc::Status OpenInference::CudaSharedMemoryStatus(grpc::ServerContext* context,
                                                   const inference::CudaSharedMemoryStatusRequest* request,
                                                   inference::CudaSharedMemoryStatusResponse* /*response*/) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  if (request->name().empty()) return grpc::Status::OK;
  return to_status(
      Error{ErrorCode::not_found, "CUDA shared memory region " + in_quotes(request->name()) + " is not registered"});
}

grpc::Status OpenInference::CudaSharedMemoryRegister(grpc::ServerContext* context,
                                                     const inference::CudaSharedMemoryRegisterRequest* /*request*/,
                                                     inference::CudaSharedMemoryRegisterResponse* /*response*/) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  return to_status(Error{ErrorCode::unsupported, "CUDA shared memory is not offered; send the data in the message"});
}

grpc::Status OpenInference::CudaSharedMemoryUnregister(grpc::ServerContext* context,
                                                       const inference::CudaSharedMemoryUnregisterRequest* /*request*/,
                                                       inference::CudaSharedMemoryUnregisterResponse* /*response*/) {
  return may_infer(context);
}

grpc::Status OpenInference::TraceSetting(grpc::ServerContext* context, const inference::TraceSettingRequest* request,
                                         inference::TraceSettingResponse* response) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return refused;
  if (request->settings_size() > 0) {
    return to_status(Error{ErrorCode::unsupported,
                           "tracing is off and stays off; the log and the metrics tell the times of every request"});
  }
  auto& settings = *response->mutable_settings();
  settings["trace_file"].add_value("");
  settings["trace_level"].add_value("OFF");
  for (const char* number : {"trace_rate", "trace_count", "log_frequency"}) settings[number].add_value("0");
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelStreamInfer(grpc::ServerContext* context, InferResponseStream* stream) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return door_.refuse("ModelStreamInfer", refused);
  const Result<CallPass> pass = door_.gate.enter(client_of_peer(context->peer()));
  if (!pass) return door_.refuse("ModelStreamInfer", to_status(pass.error()));
  return to_status(stream_infer(door_, *context, *stream));
}

grpc::Status OpenInference::ModelInfer(grpc::ServerContext* context, InferStream* stream) {
  if (grpc::Status refused = may_infer(context); !refused.ok()) return door_.refuse("ModelInfer", refused);
  const Result<CallPass> pass = door_.gate.enter(client_of_peer(context->peer()));
  if (!pass) return door_.refuse("ModelInfer", to_status(pass.error()));
  InferExchange exchange(door_, *context, "ModelInfer");
  const Result<void> served = serve(*stream, *context, door_, exchange);
  exchange.finish(served);
  return to_status(served);
}

}  // namespace znni::rpc
