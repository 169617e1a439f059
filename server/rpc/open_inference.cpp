#include "server/rpc/open_inference.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "server/rpc/bytes.hpp"
#include "server/rpc/caller.hpp"
#include "server/rpc/client_text.hpp"
#include "server/rpc/infer_call.hpp"
#include "server/rpc/status_map.hpp"

namespace znni::rpc {
namespace {

using Clock = std::chrono::steady_clock;
using inference::ModelInferRequest;
using inference::ModelInferResponse;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<std::string> versions_of(const std::string& name, const ModelServer& models) {
  std::vector<std::string> versions;
  for (const ModelInfo& model : models.models()) {
    if (model.name == name) versions.push_back(model.version);
  }
  return versions;
}

Result<ModelInfo> find_model(const std::string& name, const std::string& version, const ModelServer& models) {
  if (const Result<void> legal = check_version(name, version); !legal) return legal.error();
  return models.find(name, version);
}

CallRecord record_of(const ModelInferRequest& request, const grpc::Status& status, double seconds) {
  return {"ModelInfer",
          one_line(request.model_name(), 80),
          one_line(request.id(), 80),
          name_of(status.error_code()),
          status.error_message(),
          seconds};
}

// Why a call shall end: its caller gave up, or it waited for its turn longer than it said it would.
CallWatch::Probe make_probe(const grpc::ServerContext& context, std::int64_t timeout_us,
                            const std::atomic<bool>& started) {
  const Clock::time_point received = Clock::now();
  return [&context, timeout_us, &started, received]() -> std::optional<Error> {
    if (timeout_us > 0 && !started && Clock::now() - received > std::chrono::microseconds(timeout_us)) {
      return Error{
          ErrorCode::deadline_exceeded,
          "Request timeout expired: waited longer than the request's timeout of " + std::to_string(timeout_us) + " us"};
    }
    return gone(context);
  };
}

using InferStream = grpc::ServerUnaryStreamer<ModelInferRequest, ModelInferResponse>;

// Reads the request when it is its turn.
Result<void> receive(InferStream& stream, grpc::ServerContext& context, FrontDoor& door, ModelInferRequest& request) {
  Stall stall(door.limits.stall_seconds);
  const WatchedCall call = door.watch.watch([&] { return gone_or_stalled(context, stall); });
  const Result<ReceiveTurns::Turn> turn = door.receiving.wait(call.token());
  if (!turn) return call.reason(turn.error());
  const Stall::Wait wait(stall);
  if (stream.Read(&request)) return {};
  return call.reason({ErrorCode::invalid_argument, "the message is no ModelInferRequest, or is too large"});
}

// Sends the response; the call's memory is held until it is on its way.
Result<void> send(InferStream& stream, grpc::ServerContext& context, FrontDoor& door,
                  const ModelInferResponse& response) {
  Stall stall(door.limits.stall_seconds);
  const WatchedCall call = door.watch.watch([&] { return gone_or_stalled(context, stall); });
  const Stall::Wait wait(stall);
  if (stream.Write(response)) return {};
  return call.reason({ErrorCode::cancelled, "the caller is gone"});
}

// Fills `response` and returns what must be kept until it was sent.
Result<AdmittedInfer> compute(const ModelInferRequest& request, const grpc::ServerContext& context, FrontDoor& door,
                              ModelInferResponse& response) {
  Result<AdmittedInfer> admitted = admit_infer(request, door.models, door.limits.wire.most_response_bytes);
  if (!admitted) return admitted;
  std::atomic<bool> started = false;
  const WatchedCall call = door.watch.watch(make_probe(context, admitted->request.parameters.timeout_us, started));
  const Result<void> done = run_infer(
      request, *admitted, door.models, call.token(), [&started] { started = true; }, response);
  if (!done) return call.reason(done.error());
  return admitted;
}

}  // namespace

OpenInference::OpenInference(FrontDoor& door) : door_(door) {}

grpc::Status OpenInference::ServerLive(grpc::ServerContext* /*context*/,
                                       const inference::ServerLiveRequest* /*request*/,
                                       inference::ServerLiveResponse* response) {
  response->set_live(true);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ServerReady(grpc::ServerContext* /*context*/,
                                        const inference::ServerReadyRequest* /*request*/,
                                        inference::ServerReadyResponse* response) {
  response->set_ready(!door_.gate.closed() && door_.models.ready());
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelReady(grpc::ServerContext* /*context*/, const inference::ModelReadyRequest* request,
                                       inference::ModelReadyResponse* response) {
  const Result<ModelInfo> model = find_model(request->name(), request->version(), door_.models);
  if (!model && model.error().code != ErrorCode::unavailable) return to_status(model.error());
  response->set_ready(model && model->state == ModelState::ready && !door_.gate.closed());
  return grpc::Status::OK;
}

grpc::Status OpenInference::ServerMetadata(grpc::ServerContext* /*context*/,
                                           const inference::ServerMetadataRequest* /*request*/,
                                           inference::ServerMetadataResponse* response) {
  response->set_name("znni");
  response->set_version(door_.limits.server_version);
  for (const char* extension : {"model_configuration", "statistics", "parameters", "binary_tensor_data"}) {
    response->add_extensions(extension);
  }
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelMetadata(grpc::ServerContext* /*context*/,
                                          const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) {
  const Result<ModelInfo> model = find_model(request->name(), request->version(), door_.models);
  if (!model) return to_status(model.error());
  *response = describe_metadata(*model, versions_of(model->name, door_.models), door_.limits.wire);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelConfig(grpc::ServerContext* /*context*/, const inference::ModelConfigRequest* request,
                                        inference::ModelConfigResponse* response) {
  const Result<ModelInfo> model = find_model(request->name(), request->version(), door_.models);
  if (!model) return to_status(model.error());
  *response->mutable_config() = describe_config(*model);
  return grpc::Status::OK;
}

grpc::Status OpenInference::ModelStatistics(grpc::ServerContext* /*context*/,
                                            const inference::ModelStatisticsRequest* request,
                                            inference::ModelStatisticsResponse* response) {
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

grpc::Status OpenInference::RepositoryIndex(grpc::ServerContext* /*context*/,
                                            const inference::RepositoryIndexRequest* request,
                                            inference::RepositoryIndexResponse* response) {
  for (const ModelInfo& model : door_.models.models()) {
    if (request->ready() && model.state != ModelState::ready) continue;
    *response->add_models() = describe_index(model);
  }
  return grpc::Status::OK;
}

grpc::Status OpenInference::StreamedModelInfer(
    grpc::ServerContext* context, grpc::ServerUnaryStreamer<ModelInferRequest, ModelInferResponse>* stream) {
  const Result<CallPass> pass = door_.gate.enter();
  if (!pass) return to_status(pass.error());
  const Clock::time_point start = Clock::now();
  auto request = std::make_unique<ModelInferRequest>();
  if (const Result<void> received = receive(*stream, *context, door_, *request); !received) return to_status(received);
  // What gRPC had received it in is free again.
  trim_heap_after(static_cast<std::int64_t>(request->ByteSizeLong()));
  auto response = std::make_unique<ModelInferResponse>();
  const Result<AdmittedInfer> done = compute(*request, *context, door_, *response);
  grpc::Status status = done ? grpc::Status::OK : to_status(done.error());
  door_.record(record_of(*request, status, seconds_since(start)));
  const auto bytes = static_cast<std::int64_t>(request->ByteSizeLong() + response->ByteSizeLong());
  request.reset();
  if (status.ok()) status = to_status(send(*stream, *context, door_, *response));
  response.reset();
  trim_heap_after(bytes);
  return status;
}

}  // namespace znni::rpc
