#include "server/rpc/server.hpp"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "primitives/core/clock_time.hpp"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/calls/reflection_bounds.hpp"
#include "server/rpc/connections/connection_listener.hpp"
#include "server/rpc/connections/listening_points.hpp"
#include "server/rpc/connections/listening_sockets.hpp"
#include "server/rpc/connections/stream_counts.hpp"
#include "server/rpc/inference/open_inference.hpp"
#include "server/rpc/volumes/volume_upload.hpp"
#include "server/rpc/volumes/volumes.hpp"

namespace znni::rpc {
namespace {

// Protobuf beside the voxels of a message: names, shapes, parameters.
constexpr std::int64_t message_slack_bytes = 64 << 10;
constexpr int spare_threads = 8;  // refuse calls while all others are taken
constexpr std::chrono::milliseconds readiness_period{100};
constexpr int keepalive_ms = 60'000;
constexpr int max_streams = 256;          // of one connection, which a client that keeps to the protocol keeps to
constexpr int max_read_bytes = 64 << 10;  // at a time: all calls in it begin before any is looked at
constexpr int max_handshake_ms = 20'000;
constexpr std::int64_t min_window_bytes = 64 << 10;
constexpr std::int64_t max_window_bytes = 4 << 20;
constexpr std::int64_t buffered_windows = 256;  // that fit into max_buffered_bytes, unless min_window_bytes is more
constexpr double min_answering_seconds = 1;     // of calls that are served, when the server stops

// Returns how many bytes of a stream a client may send before they are read.
int window_bytes(const ListenOptions& options) {
  if (options.max_buffered_bytes <= 0) return max_window_bytes;
  return static_cast<int>(
      std::clamp(options.max_buffered_bytes / buffered_windows, min_window_bytes, max_window_bytes));
}

// Returns the bytes of the longest message that the library passes on. It ends the call of a longer one as if its
// caller had gone. So the bound is more than a legal message can have brought when it breaks off: voxels and what is
// beside them, what frames and TLS add, and a window of earlier bytes that may count as its own.
std::int64_t max_library_bytes(const ListenOptions& options) {
  const std::int64_t most = std::max(options.max_message_bytes, max_chunk_bytes) + message_slack_bytes;
  const std::int64_t wrapped = most + most / 64;
  return std::min<std::int64_t>(wrapped + window_bytes(options), std::numeric_limits<int>::max());
}

FrontDoorLimits door_limits(const ListenOptions& options) {
  FrontDoorLimits limits;
  limits.wire = {options.max_message_bytes, options.max_message_bytes, max_chunk_bytes};
  limits.max_calls = options.max_calls;
  limits.client_share = options.client_share;
  limits.silent_seconds = options.silent_seconds;
  limits.reflection_seconds = options.reflection_seconds;
  limits.max_receives = options.max_receives;
  limits.window_bytes = window_bytes(options);
  limits.max_library_bytes = max_library_bytes(options);
  limits.stall_seconds = options.stall_seconds;
  limits.max_unsent_bytes = options.max_unsent_bytes;
  limits.max_input_bytes = options.max_input_bytes;
  limits.server_version = options.server_version;
  limits.offer_shared_memory = options.offer_shared_memory;
  limits.http_shares_memory = options.http_shares_memory;
  limits.max_regions = options.max_regions;
  limits.model_control = options.model_control;
  limits.json_log = options.json_log;
  return limits;
}

// Returns how many threads may serve calls: as many as there may be calls of all kinds, and some.
int max_threads(const FrontDoorLimits& limits) {
  return limits.max_calls + limits.max_small_calls + limits.max_reflections + spare_threads;
}

void configure(grpc::ServerBuilder& builder, const ListenOptions& options, const FrontDoorLimits& limits) {
  const std::int64_t most = std::max(options.max_message_bytes, max_chunk_bytes) + message_slack_bytes;
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.max_library_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(std::min<std::int64_t>(most, std::int64_t{1} << 30)));
  // The size of a compressed message is unknown before it is unpacked, and voxels hardly get smaller.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // A client whose machine is gone is noticed.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms / 3);
  // Clients ping as often as they like. The library stops reading where it has too many answers to write, but where it
  // ends a connection for its pings it notes an error for each, which takes many times their bytes.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, max_streams);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, max_read_bytes);
  // Windows keep their size. If its memory gets short the library makes them smaller, even below what a client has sent
  // already. It then takes an empty last frame, which HTTP/2 allows, for too much, and resets the stream.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, window_bytes(options));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, max_handshake_ms);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 1);
  grpc::ResourceQuota quota("znnid");
  quota.SetMaxThreads(max_threads(limits));
  // The library refuses a message for its size only after it has received all of it: the quota stops it before.
  if (options.max_buffered_bytes > 0) quota.Resize(static_cast<std::size_t>(options.max_buffered_bytes));
  builder.SetResourceQuota(quota);
}

// Reflection comes with its library. It answers anybody: where callers must show who they are there is none.
struct NoReflection final : grpc::ServerBuilderOption {
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

using InterceptorFactory = grpc::experimental::ServerInterceptorFactoryInterface;

std::vector<std::unique_ptr<InterceptorFactory>> bounds_of_reflection(FrontDoor& door) {
  std::vector<std::unique_ptr<InterceptorFactory>> bounds;
  bounds.push_back(std::make_unique<ReflectionBounds>(door));
  return bounds;
}

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

std::string as_given(const ListenOptions& options) { return options.address + ":" + std::to_string(options.port); }

Error cannot_use_credentials(const ListenOptions& options) {
  const std::string what = options.certificates ? "certificate and key are not those of a server, as PEM"
                                                : "the system grants no socket to try them on";
  return {ErrorCode::unavailable, "cannot serve on " + as_given(options) + ": " + what};
}

// Returns a name that no other process has, those of other containers in the same network included.
std::string random_word() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

// Returns true if a server can be made with `credentials`. The library tells that only of ports that it listens on
// itself, so one of a moment does, which no one can reach by chance.
bool are_usable(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::ServerBuilder builder;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  builder.AddListeningPort("unix-abstract:znnid-" + random_word() + "-credentials", credentials);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server) server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) continue;
  return server != nullptr;
}

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

std::shared_ptr<Acceptor> add_acceptor(grpc::ServerBuilder& builder,
                                       const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  using Kind = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  return builder.experimental().AddExternalConnectionAcceptor(Kind::FROM_FD, credentials);
}

TakeConnection hand_to(std::shared_ptr<Acceptor> acceptor) {
  return [acceptor = std::move(acceptor)](int listening, OwnedDescriptor connection) {
    Acceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listening;
    parameters.fd = connection.release();
    acceptor->HandleNewConnection(&parameters);
  };
}

}  // namespace

struct Server::State {
  State(ModelServer& models, CallSink record, const ListenOptions& options)
      : counts(options.received),
        door(
            models, std::move(record), door_limits(options), options.tokens, options.flows,
            [this](const std::string& peer) { return received(peer); }, options.clock),
        open_inference(door),
        volumes(door) {}

  // Returns what the connection from a peer has received. The system tells nothing before there is a listener.
  [[nodiscard]] std::optional<Received> received(const std::string& peer) const {
    const ConnectionListener* const from = listening;
    const std::optional<Received> of_system = from == nullptr ? std::nullopt : from->received(peer);
    return counts ? counts(peer, of_system) : of_system;
  }

  void set_health(bool serving);
  // Lets health follow readiness, on a thread of its own.
  void watch_readiness(const std::stop_token& stop);

  const ReceivedCounts counts;  // may be empty
  FrontDoor door;
  OpenInference open_inference;
  VolumesService volumes;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<ConnectionListener> listener;                // hands connections to the server
  std::atomic<const ConnectionListener*> listening = nullptr;  // the same, for calls that may come before it is here
  int port = 0;
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any changed;
  std::jthread readiness;
};

// Sets the health of each service. The whole, "", comes last: a client that sees it serve may ask for each service.
void Server::State::set_health(bool serving) {
  grpc::HealthCheckServiceInterface* health = server->GetHealthCheckService();
  for (const char* service : {"inference.GRPCInferenceService", "znni.v1.Volumes", ""}) {
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
  configure(builder, options, state->door.limits);
  builder.experimental().SetInterceptorCreators(bounds_of_reflection(state->door));
  if (!options.tokens.infer.empty()) builder.SetOption(std::make_unique<NoReflection>());
  const std::vector<std::string> points = listening_points(options.address, options.port);
  if (points.empty()) return cannot_listen(options, as_given(options));
  Result<std::vector<ListeningSocket>> sockets = open_listening_sockets(points);
  if (!sockets) return cannot_listen(options, sockets.error().message);
  const std::shared_ptr<grpc::ServerCredentials> credentials = credentials_of(options.certificates);
  if (!are_usable(credentials)) return cannot_use_credentials(options);
  const ConnectionTakers takers = {hand_to(add_acceptor(builder, credentials)),
                                   hand_to(add_acceptor(builder, grpc::InsecureServerCredentials()))};
  builder.RegisterService(&state->open_inference);
  builder.RegisterService(&state->volumes);
  state->server = builder.BuildAndStart();
  if (!state->server) return cannot_listen(options, as_given(options));
  state->port = sockets->front().address.port();
  state->set_health(false);
  state->listener = std::make_unique<ConnectionListener>(*std::move(sockets), options.connections, takers, options.warn,
                                                         options.clock);
  state->listening = state->listener.get();
  if (const auto number = newest_server()) state->listener->watch_streams(*number);
  State& running = *state;
  state->readiness = std::jthread([&running](const std::stop_token& stop) { running.watch_readiness(stop); });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() { stop(0); }

int Server::port() const { return state_->port; }

FrontDoor& Server::front_door() const { return state_->door; }

ConnectionFacts Server::connections() const { return state_->listener->facts(); }

Result<void> Server::ask_own_port(std::chrono::milliseconds patience) const { return state_->listener->ask(patience); }

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
  const auto start = std::chrono::steady_clock::now();
  close();
  // While calls are inside, models take jobs: a call may still receive, or have further volumes.
  static_cast<void>(state_->door.gate.wait_empty(seconds));
  state_->door.models.drain(seconds - seconds_since(start));
  stop(std::max(seconds - seconds_since(start), 1.0));
}

void Server::stop(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  close();
  // A call leaves the gate before its status is sent.
  if (state_->door.gate.wait_empty(seconds)) {
    const double left = std::max(seconds - seconds_since(start), min_answering_seconds);
    static_cast<void>(state_->door.answering.wait_empty(left));
  }
  state_->door.ended = true;
  state_->readiness = {};
  state_->listener->stop();
  // A moment for small answers; then every call left, open health watches included, is ended.
  state_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  state_->server->Wait();
  // Meets the threads of calls, none of which is inside any more: a tool that looks for races does not see the locks of
  // the library under which they met.
  static_cast<void>(state_->door.answering.wait_empty(0));
  state_->door.reflection_ended.take();
}

}  // namespace znni::rpc
