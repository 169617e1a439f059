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

// A request in memory that is leased; one that was refused is already gone.
struct Received {
  std::unique_ptr<ModelInferRequest> request = std::make_unique<ModelInferRequest>();
  std::string model_name;
  std::string id;
  Result<AdmittedInfer> admitted = Error{};

  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(request->ByteSizeLong()); }
};

// Leases the memory of what was read, or frees it.
void admit(Received& received, FrontDoor& door) {
  const std::int64_t bytes = received.bytes();
  // What gRPC had received it in is free again.
  trim_heap_after(bytes);
  received.model_name = one_line(received.request->model_name(), 80);
  received.id = one_line(received.request->id(), 80);
  received.admitted = admit_infer(*received.request, door.models, door.limits.wire.most_response_bytes);
  if (received.admitted) return;
  received.request.reset();
  trim_heap_after(bytes);
}

// Reads the request when it is its turn; the turn ends when its memory is leased or free.
Result<Received> receive(InferStream& stream, grpc::ServerContext& context, FrontDoor& door) {
  Stall stall(door.limits.stall_seconds);
  const WatchedCall call = door.watch.watch([&] { return gone_or_stalled(context, stall); });
  const Result<ReceiveTurns::Turn> turn = door.receiving.wait(call.token());
  if (!turn) return call.reason(turn.error());
  Received received;
  if (const Stall::Wait wait(stall); !stream.Read(received.request.get())) {
    return call.reason({ErrorCode::invalid_argument, "the message is no ModelInferRequest, or is too large"});
  }
  admit(received, door);
  return received;
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

Result<void> compute(const Received& received, const grpc::ServerContext& context, FrontDoor& door,
                     ModelInferResponse& response) {
  if (!received.admitted) return received.admitted.error();
  const AdmittedInfer& admitted = *received.admitted;
  std::atomic<bool> started = false;
  const WatchedCall call = door.watch.watch(make_probe(context, admitted.request.parameters.timeout_us, started));
  const Result<void> done = run_infer(
      *received.request, admitted, door.models, call.token(), [&started] { started = true; }, response);
  return done ? done : call.reason(done.error());
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
  Result<Received> received = receive(*stream, *context, door_);
  if (!received) return to_status(received.error());
  auto response = std::make_unique<ModelInferResponse>();
  grpc::Status status = to_status(compute(*received, *context, door_, *response));
  door_.record({"ModelInfer", received->model_name, received->id, name_of(status.error_code()), status.error_message(),
                seconds_since(start)});
  std::int64_t bytes = static_cast<std::int64_t>(response->ByteSizeLong());
  if (received->request) bytes += received->bytes();
  received->request.reset();
  if (status.ok()) status = to_status(send(*stream, *context, door_, *response));
  response.reset();
  trim_heap_after(bytes);
  return status;
}

}  // namespace znni::rpc
