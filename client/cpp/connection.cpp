#include "client/cpp/connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <grpcpp/create_channel.h>

#include "proto/inference.grpc.pb.h"

namespace znni::client {
namespace {

constexpr int message_limit = 8 << 20;  // chunks are at most 1 MiB; metadata is small
constexpr std::chrono::seconds answer_time{10};
constexpr int keepalive_ms = 5 * 60 * 1000;  // notices a vanished machine; by default servers permit no less
constexpr int longest_backoff_ms = 10'000;   // until a daemon that is back is found by a call that is tried again

std::shared_ptr<grpc::ChannelCredentials> wire_credentials(const Credentials& credentials) {
  if (credentials.authority.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({credentials.authority, credentials.key, credentials.certificate});
}

std::shared_ptr<grpc::Channel> open_channel(const std::string& address, const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(message_limit);
  arguments.SetMaxSendMessageSize(message_limit);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, longest_backoff_ms);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // connects to daemons directly, even on loopback
  return grpc::CreateCustomChannel(address, wire_credentials(credentials), arguments);
}

// Returns the extent of "z,y,x" or "zxyxx"; nets with fewer axes have "y,x" or "x". Missing axes are `missing`.
Vec3 parse_extent(const std::string& text, std::int64_t missing) {
  std::array<long long, 3> n = {1, 1, 1};
  const int found = std::sscanf(text.c_str(), "%lld%*[,x]%lld%*[,x]%lld", &n[0], &n[1], &n[2]);
  Vec3 extent = Vec3::cube(missing);
  for (int i = 0; i < found; ++i) extent[3 - found + i] = n[static_cast<std::size_t>(i)];
  return extent;
}

ErrorCode code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT: return ErrorCode::invalid_argument;
    case grpc::StatusCode::NOT_FOUND: return ErrorCode::not_found;
    case grpc::StatusCode::UNIMPLEMENTED: return ErrorCode::unsupported;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return ErrorCode::over_budget;
    case grpc::StatusCode::UNAVAILABLE: return ErrorCode::unavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED: return ErrorCode::deadline_exceeded;
    case grpc::StatusCode::CANCELLED: return ErrorCode::cancelled;
    case grpc::StatusCode::FAILED_PRECONDITION: return ErrorCode::corrupt_file;
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED: return ErrorCode::invalid_argument;
    default: return ErrorCode::internal;
  }
}

std::int64_t channels_of(const inference::ModelMetadataResponse::TensorMetadata& tensor) {
  return tensor.shape_size() > 1 ? std::max<std::int64_t>(tensor.shape(1), 1) : 1;
}

// Reads an extent of the metadata into `extent`, which is left as it is if there is none.
void read_extent(const ModelFacts& facts, const std::string& key, Vec3& extent, std::int64_t missing = 1) {
  const auto found = facts.properties.find(key);
  if (found != facts.properties.end()) extent = parse_extent(found->second, missing);
}

// Reads what boxes of a volume depend on.
void read_surroundings(ModelFacts& facts) {
  read_extent(facts, "window", facts.window);
  read_extent(facts, "padding_before", facts.padding_before, 0);
  read_extent(facts, "padding_after", facts.padding_after, 0);
  read_extent(facts, "input_period", facts.period);
  facts.period = max(facts.period, Vec3::cube(1));
  read_extent(facts, "least_input", facts.min_extent);
  const auto zscore = facts.properties.find("input_zscore");
  facts.needs_whole = zscore != facts.properties.end() && zscore->second == "volume";
  const auto overlap = facts.properties.find("window_overlap");
  if (overlap != facts.properties.end()) facts.window_overlap = std::strtod(overlap->second.c_str(), nullptr);
}

ModelFacts facts_of(const inference::ModelMetadataResponse& answer) {
  ModelFacts facts;
  facts.name = answer.name();
  if (answer.versions_size() > 0) facts.version = answer.versions(answer.versions_size() - 1);
  if (answer.inputs_size() > 0) facts.f_in = 0;
  for (const auto& input : answer.inputs()) facts.f_in += channels_of(input);
  if (answer.outputs_size() > 0) facts.f_out = 0;
  for (const auto& output : answer.outputs()) facts.f_out += channels_of(output);
  facts.properties.insert(answer.properties().begin(), answer.properties().end());
  read_extent(facts, "field_of_view", facts.field_of_view);
  read_surroundings(facts);
  return facts;
}

// Returns true for a status that gRPC made on this side because nothing answered or the connection broke, or that a
// proxy made. znnid marks its own statuses, but cannot mark one that ends a call that waits for us.
bool is_unanswered(const grpc::Status& status, const grpc::ClientContext& context) {
  if (context.GetServerTrailingMetadata().contains("answered-by")) return false;
  const bool has_deadline = context.deadline() != std::chrono::system_clock::time_point::max();
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && has_deadline);
}

// Returns what to look at if nothing answers. TLS ends a connection without a reason that gRPC could tell.
std::string question(bool uses_tls) {
  if (!uses_tls) return "is znnid running there?";
  return "is znnid running there, with TLS? does it ask for a client certificate that its --grpc-root-cert signed?";
}

// Sets a deadline, so that the call ends if nothing answers.
void limit_time(grpc::ClientContext& context) { context.set_deadline(std::chrono::system_clock::now() + answer_time); }

}  // namespace

Connection::Connection(std::string address, const Credentials& credentials)
    : address_(std::move(address)),
      token_(credentials.token),
      uses_tls_(!credentials.authority.empty()),
      channel_(open_channel(address_, credentials)) {}

void Connection::identify(grpc::ClientContext& context) const {
  if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
}

Result<bool> Connection::ready() const {
  grpc::ClientContext context;
  limit_time(context);
  identify(context);
  inference::ServerReadyResponse answer;
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  const grpc::Status status = stub->ServerReady(&context, {}, &answer);
  if (!status.ok()) return to_error(status, context);
  return answer.ready();
}

Result<std::map<std::string, std::string>> Connection::models() const {
  grpc::ClientContext context;
  limit_time(context);
  identify(context);
  inference::RepositoryIndexResponse answer;
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  const grpc::Status status = stub->RepositoryIndex(&context, {}, &answer);
  if (!status.ok()) return to_error(status, context);
  std::map<std::string, std::string> models;
  for (const auto& model : answer.models()) {
    models[model.name()] = model.state() == "READY" ? "ready" : model.state() + " " + model.reason();
  }
  return models;
}

Result<ModelFacts> Connection::model(const std::string& name, const std::string& version) const {
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  inference::ModelReadyRequest ready_request;
  ready_request.set_name(name);
  ready_request.set_version(version);
  inference::ModelReadyResponse ready;
  grpc::ClientContext ready_context;
  limit_time(ready_context);
  identify(ready_context);
  if (const grpc::Status status = stub->ModelReady(&ready_context, ready_request, &ready); !status.ok()) {
    return to_error(status, ready_context);
  }
  inference::ModelMetadataRequest request;
  request.set_name(name);
  request.set_version(version);
  inference::ModelMetadataResponse answer;
  grpc::ClientContext context;
  limit_time(context);
  identify(context);
  if (const grpc::Status status = stub->ModelMetadata(&context, request, &answer); !status.ok()) {
    return to_error(status, context);
  }
  ModelFacts facts = facts_of(answer);
  facts.ready = ready.ready();
  if (!version.empty()) facts.version = version;
  return facts;
}

Error Connection::to_error(const grpc::Status& status, const grpc::ClientContext& context) const {
  const ErrorCode code = code_of(status.error_code());
  if (!is_unanswered(status, context)) return {code, status.error_message()};
  return {code, "no answer from " + address_ + ": " + status.error_message() + " (" + question(uses_tls_) + ")"};
}

}  // namespace znni::client
