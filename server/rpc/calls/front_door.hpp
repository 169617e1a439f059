// Holds what both front doors share: the models, the limits, and the calls inside.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "server/jobs/model_server.hpp"
#include "server/rpc/base/handed_over.hpp"
#include "server/rpc/base/now.hpp"
#include "server/rpc/base/shared_regions.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/access.hpp"
#include "server/rpc/calls/call_gate.hpp"
#include "server/rpc/calls/call_record.hpp"
#include "server/rpc/calls/call_watch.hpp"
#include "server/rpc/calls/receive_turns.hpp"
#include "server/rpc/calls/refusal.hpp"
#include "server/rpc/connections/received.hpp"
#include "server/rpc/messages/model_description.hpp"

namespace znni::rpc {

struct FrontDoorLimits {
  WireLimits wire;
  int max_calls = 128;       // that carry volumes, together
  int max_small_calls = 48;  // that carry none
  int max_reflections = 8;   // streams of reflection
  int max_receives = 4;      // of ModelInfer messages, at the same time
  // The bytes of one message that may come before it is read.
  std::int64_t window_bytes = 4 << 20;
  std::int64_t max_library_bytes = 0;  // of one message that the library passes on
  double client_share = 0.5;           // of each of these numbers of calls, for one client
  double stall_seconds = 120;          // a call whose client neither sends nor takes anything for so long is ended
  // A call is ended so long after its connection brought something, if its message is read; likewise one whose client
  // does not send a volume's header, or does not take a small answer.
  double silent_seconds = 20;
  double reflection_seconds = 60;     // a stream of reflection lasts at most
  std::int64_t max_unsent_bytes = 0;  // of one stream's output, computed and waiting for its client
  std::int64_t max_input_bytes = 0;   // of one stream's input, if what is read at a time is not more
  std::string server_version;
  bool offer_shared_memory = false;  // of clients on this host
  bool http_shares_memory = true;    // also of those that come over HTTP
  std::size_t max_regions = 1024;    // of shared memory, registered at the same time
  bool model_control = false;        // clients may load and unload models
  bool json_log = false;             // as LogSettings tells it

  // Returns how many of `most` one client may have: its share, at least one.
  [[nodiscard]] int share_of(int most) const { return std::max(1, static_cast<int>(std::ceil(most * client_share))); }
  // Returns the time for one message of `bytes`, whose progress is not seen: a megabyte takes a second more.
  [[nodiscard]] double seconds_for(std::int64_t bytes) const {
    return stall_seconds + static_cast<double>(bytes) * 1e-6;
  }
  // Returns the time for a body over HTTP of `bytes`, whose progress is seen: a megabyte takes a second more.
  [[nodiscard]] double seconds_for_body(std::int64_t bytes) const {
    return silent_seconds + static_cast<double>(bytes) * 1e-6;
  }
};

// Owned by the server, shared by the services and all their threads.
struct FrontDoor {
  FrontDoor(ModelServer& model_server, CallSink call_sink, const FrontDoorLimits& door_limits, Tokens tokens,
            FlowSink flow_sink = {}, ReceivedOf received_of = {}, Now now = std::chrono::steady_clock::now)
      : models(model_server),
        sink(std::move(call_sink)),
        flows(std::move(flow_sink)),
        limits(door_limits),
        guard(std::move(tokens)),
        regions(door_limits.max_regions),
        gate(door_limits.max_calls, door_limits.share_of(door_limits.max_calls)),
        small_gate(door_limits.max_small_calls, door_limits.share_of(door_limits.max_small_calls)),
        reflection_gate(door_limits.max_reflections, door_limits.share_of(door_limits.max_reflections)),
        receiving(door_limits.max_receives, door_limits.share_of(door_limits.max_receives)),
        received(std::move(received_of)),
        clock(std::move(now)) {}

  // Notes a call that has ended. One without an id has a number as one, so that its line can be spoken of.
  void record(CallRecord call) {
    if (call.id.empty()) call.id = "#" + std::to_string(++unnamed_calls);
    sink(call);
  }

  // Notes what a call, whose record tells its model, has received, computed or sent.
  void note(const CallRecord& call, CallFlow flow) const {
    if (!flows) return;
    flow.model = call.model;
    flow.version = call.version;
    flows(flow);
  }
  // Notes what a job of such a call has computed.
  void note(const CallRecord& call, const JobGain& gain) const {
    CallFlow flow;
    flow.voxels = gain.voxels;
    flow.patches = gain.patches;
    note(call, std::move(flow));
  }

  // Notes a call that did not come in; returns `status`.
  [[nodiscard]] grpc::Status refuse(std::string_view method, const grpc::Status& status) {
    CallRecord call;
    call.method = method;
    call.code = name_of(status.error_code());
    call.reason = status.error_message();
    call.refusal = refusal_at_the_door(status.error_code());
    record(std::move(call));
    return status;
  }
  [[nodiscard]] std::string_view refusal_at_the_door(grpc::StatusCode code) const {
    if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) return "client_calls";
    if (code == grpc::StatusCode::UNAVAILABLE) return gate.closed() ? "shutting_down" : "calls";
    return code == grpc::StatusCode::CANCELLED ? "" : "unauthenticated";
  }
  // Writes into `call`, which came in, how it ended. `model` was found for it, or nullptr; `wanted_bytes` as
  // RefusedCall has them.
  void note_end(const Result<void>& result, const ModelInfo* model, std::int64_t wanted_bytes, CallRecord& call) const {
    const grpc::Status status = to_status(result);
    call.code = name_of(status.error_code());
    call.reason = status.error_message();
    if (result) return;
    const bool serves = model != nullptr && serves_still(*model);
    call.refusal =
        refusal_of(result.error().code, {gate.closed(), serves, wanted_bytes, models.memory().transport_limit});
  }
  [[nodiscard]] bool serves_still(const ModelInfo& model) const {
    const Result<ModelInfo> now = models.find(model.name, model.version);
    return now && now->number == model.number;
  }

  // Returns true if new clients should come here.
  [[nodiscard]] bool ready() const { return !retired && models.ready(); }

  ModelServer& models;
  std::atomic<bool> retired = false;  // nothing is said to be ready any more, though it may still serve
  std::atomic<bool> ended = false;    // calls over other protocols end now, as gRPC's do
  const CallSink sink;
  const FlowSink flows;  // may be empty
  std::atomic<std::int64_t> unnamed_calls = 0;
  const FrontDoorLimits limits;
  const Guard guard;
  SharedRegions regions;
  CallGate gate;                                        // of calls that carry volumes
  CallGate answering{std::numeric_limits<int>::max()};  // of the same over gRPC, until their status is sent
  CallGate small_gate;                                  // of others, until the end
  CallGate reflection_gate;                             // likewise
  HandedOver reflection_ended;                          // given with all that a stream of reflection did here
  ReceiveTurns receiving;
  const ReceivedOf received;  // may be empty: nothing is known
  const Now clock;            // times what clients and their requests wait for
  CallWatch watch;            // comes last: its thread and those of the calls read the rest
};

}  // namespace znni::rpc
