#include "server/rpc/server.hpp"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "server/rpc/bytes.hpp"
#include "server/rpc/listening_points.hpp"
#include "server/rpc/open_inference.hpp"
#include "server/rpc/volume_upload.hpp"
#include "server/rpc/volumes.hpp"

namespace znni::rpc {
namespace {

// Protobuf beside the voxels of a message: names, shapes, parameters.
constexpr std::int64_t message_slack_bytes = 64 << 10;
// Threads beside those of calls with volumes: metadata, readiness, refusals.
constexpr int spare_threads = 32;
constexpr std::chrono::milliseconds readiness_period{100};
constexpr int keepalive_ms = 60'000;

FrontDoorLimits door_limits(const ListenOptions& options) {
  FrontDoorLimits limits;
  limits.wire = {options.most_message_bytes, options.most_message_bytes, most_chunk_bytes};
  limits.most_calls = options.most_calls;
  limits.most_receives = options.most_receives;
  limits.stall_seconds = options.stall_seconds;
  limits.most_unsent_bytes = options.most_unsent_bytes;
  limits.most_input_bytes = options.most_input_bytes;
  limits.server_version = options.server_version;
  limits.offer_shared_memory = options.offer_shared_memory;
  limits.model_control = options.model_control;
  limits.json_log = options.json_log;
  return limits;
}

void configure(grpc::ServerBuilder& builder, const ListenOptions& options) {
  const std::int64_t most = std::max(options.most_message_bytes, most_chunk_bytes) + message_slack_bytes;
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<std::int64_t>(most, std::int64_t{1} << 30)));
  builder.SetMaxSendMessageSize(static_cast<int>(std::min<std::int64_t>(most, std::int64_t{1} << 30)));
  // What is compressed has a size that nobody knows before it is unpacked, and voxels hardly get smaller.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // Two servers on one port would share its calls without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A client whose machine is gone is noticed.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms / 3);
  grpc::ResourceQuota quota("znnid");
  quota.SetMaxThreads(options.most_calls + spare_threads);
  // A message is refused for its size only when all of it was received: somebody must stop it before.
  if (options.most_buffered_bytes > 0) quota.Resize(static_cast<std::size_t>(options.most_buffered_bytes));
  builder.SetResourceQuota(quota);
}

// Reflection comes with its library. It answers anybody, and its streams have threads of their own and no bound on
// their time: where callers must show who they are there is none.
struct NoReflection final : grpc::ServerBuilderOption {
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

std::shared_ptr<grpc::ServerCredentials> credentials_of(const std::optional<Certificates>& certificates) {
  if (!certificates) return grpc::InsecureServerCredentials();
  const bool mutual = !certificates->client_authority.empty();
  grpc::SslServerCredentialsOptions tls(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                               : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  tls.pem_key_cert_pairs.push_back({certificates->key, certificates->certificate});
  tls.pem_root_certs = certificates->client_authority;
  return grpc::SslServerCredentials(tls);
}

Error cannot_listen(const ListenOptions& options, const std::string& where) {
  std::string message =
      "cannot listen on " + where + ": port " + std::to_string(options.port) +
      " is in use or the address is not of this machine; choose another --grpc-port or --grpc-address";
  if (options.certificates) message += "; or certificate and key are not those of a server, as PEM";
  return {ErrorCode::unavailable, message};
}

// The point of which the library has no port, or else the address as it was given.
std::string where_it_failed(const ListenOptions& options, const std::vector<std::string>& points,
                            const std::vector<int>& ports) {
  const auto none = std::find(ports.begin(), ports.end(), 0);
  const bool found = none != ports.end();
  return found ? points[static_cast<std::size_t>(none - ports.begin())]
               : options.address + ":" + std::to_string(options.port);
}

}  // namespace

struct Server::State {
  State(ModelServer& models, CallSink record, const ListenOptions& options)
      : door(models, std::move(record), door_limits(options), options.tokens), open_inference(door), volumes(door) {}

  void set_health(bool serving);
  // Health follows readiness, on a thread of its own.
  void watch_readiness(const std::stop_token& stop);

  FrontDoor door;
  OpenInference open_inference;
  VolumesService volumes;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any changed;
  std::jthread readiness;
};

void Server::State::set_health(bool serving) {
  grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService();
  for (const char* service : {"", "inference.GRPCInferenceService", "znni.v1.Volumes"}) {
    health->SetServingStatus(service, serving);
  }
}

void Server::State::watch_readiness(const std::stop_token& stop) {
  bool serving = false;
  while (!stop.stop_requested()) {
    if (door.ready() != serving) {
      set_health(serving = !serving);
      // Searching plans leaves many small blocks behind.
      trim_heap_after(saturated);
    }
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, readiness_period, [] { return false; });
  }
}

Result<std::unique_ptr<Server>> Server::start(ModelServer& models, CallSink record, const ListenOptions& options) {
  // Settings of the library, read by the next builder.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  auto state = std::make_unique<State>(models, std::move(record), options);
  grpc::ServerBuilder builder;
  configure(builder, options);
  if (!options.tokens.infer.empty()) builder.SetOption(std::make_unique<NoReflection>());
  const std::vector<std::string> points = listening_points(options.address, options.port);
  if (points.empty()) return cannot_listen(options, where_it_failed(options, {}, {}));
  std::vector<int> ports(points.size(), 0);
  const std::shared_ptr<grpc::ServerCredentials> credentials = credentials_of(options.certificates);
  for (std::size_t i = 0; i < points.size(); ++i) builder.AddListeningPort(points[i], credentials, &ports[i]);
  builder.RegisterService(&state->open_inference);
  builder.RegisterService(&state->volumes);
  state->server = builder.BuildAndStart();
  state->port = ports.front();
  if (!state->server || std::find(ports.begin(), ports.end(), 0) != ports.end()) {
    return cannot_listen(options, where_it_failed(options, points, ports));
  }
  state->set_health(false);
  State& running = *state;
  state->readiness = std::jthread([&running](const std::stop_token& stop) { running.watch_readiness(stop); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() { stop(0); }

int Server::port() const { return state_->port; }

void Server::retire() {
  state_->door.retired = true;
  state_->door.models.retire();
  state_->set_health(false);
}

void Server::close() {
  state_->door.retired = true;
  state_->door.gate.close();
  state_->set_health(false);
}

void Server::drain(double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto left = [&] { return seconds - std::chrono::duration<double>(Clock::now() - start).count(); };
  close();
  // While somebody is inside, models take jobs: a call may be receiving yet, or have further volumes.
  static_cast<void>(state_->door.gate.wait_empty(seconds));
  state_->door.models.drain(left());
  stop(std::max(left(), 1.0));
}

void Server::stop(double seconds) {
  close();
  static_cast<void>(state_->door.gate.wait_empty(seconds));
  state_->readiness = {};
  // A moment for answers that are being sent; then every call left, open health watches included, is ended.
  state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  state_->server->Wait();
}

}  // namespace znni::rpc
