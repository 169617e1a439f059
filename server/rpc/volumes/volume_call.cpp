#include "server/rpc/volumes/volume_call.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "primitives/core/clock_time.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/find_room.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/calls/layer_text.hpp"
#include "server/rpc/messages/datatypes.hpp"
#include "server/rpc/messages/raw_message.hpp"
#include "server/rpc/messages/request_checks.hpp"

namespace znni::rpc {
namespace {

// The time that a client may take to notice that its stream has failed.
constexpr std::chrono::milliseconds patience{5000};

Error caller_gone() { return {ErrorCode::cancelled, "the caller cancelled or is gone"}; }

}  // namespace

VolumeCall::VolumeCall(FrontDoor& door, grpc::ServerContext& context, Stream& stream)
    : door_(door),
      context_(context),
      stream_(stream),
      blocks_(door.models),
      start_(Clock::now()),
      header_stall_(door.limits.silent_seconds, door.clock),
      input_stall_(door.limits.stall_seconds, door.clock),
      output_stall_(door.limits.stall_seconds, door.clock) {
  record_.method = "Volumes";
}

Result<void> VolumeCall::run() {
  Result<void> result;
  {
    const WatchedCall call = door_.watch.watch([this]() -> std::optional<Error> {
      for (const Stall* const stall : {&header_stall_, &input_stall_}) {
        if (std::optional<Error> error = gone_or_stalled(context_, *stall)) return error;
      }
      return gone_or_stalled(context_, output_stall_);
    });
    result = serve(call);
    if (!result) result = call.reason(result.error());
  }
  record_end(result);
  give_back();
  trim_heap_after(held_bytes_);
  return result;
}

Result<void> VolumeCall::serve(const WatchedCall& call) {
  Result<Accepted> accepted = accept();
  if (!accepted) return accepted.error();
  Result<void> leased = find_room([&] { return look_and_lease(*accepted); });
  if (!leased) return leased;
  if (Result<void> greeted = greet(*accepted); !greeted) return greeted;
  return stream(*accepted, call);
}

Result<VolumeCall::Accepted> VolumeCall::accept() {
  v1::VolumeRequest first;
  const bool is_here = read_first(first);
  if (no_message_) return *no_message_;
  if (!is_here || !first.has_header()) {
    return Error{ErrorCode::invalid_argument, "the stream begins without a VolumeHeader, expected one before any data"};
  }
  Accepted accepted;
  accepted.header = first.header();
  const v1::VolumeHeader& header = accepted.header;
  record_.model = one_line(header.model_name(), 80);
  record_.id = one_line(header.id(), 80);
  if (Result<void> legal = check_version(header.model_name(), header.model_version()); !legal) return legal.error();
  Result<ModelInfo> model = door_.models.find(header.model_name(), header.model_version());
  if (!model) return model.error();
  accepted.model = *std::move(model);
  model_ = accepted.model;
  record_.version = accepted.model.version;
  Result<VolumeHead> head = check_volume_header(header, accepted.model);
  if (!head) return head.error();
  accepted.head = *head;
  accepted.token = resume_token(header, accepted.model);
  if (Result<void> legal = check_resume(header, accepted.token, accepted.model); !legal) return legal.error();
  return accepted;
}

void VolumeCall::give_back() {
  blocks_.clear();
  input_ = {};
  input_lease_ = {};
}

Result<void> VolumeCall::look_and_lease(Accepted& accepted) {
  give_back();  // what an earlier look leased, so that this one does not count it as taken
  const VolumeHead& head = accepted.head;
  VolumeShape left = head.volume;
  left.n.z -= head.first_plane;
  const std::int64_t alike = head.first_plane == 0 ? 1 : 0;
  Result<JobEstimate> estimate =
      door_.models.estimate(accepted.model.name, accepted.model.version, left, head.output_type, alike);
  if (!estimate) return estimate.error();
  accepted.estimate = *std::move(estimate);
  accepted.in_memory = head.whole || (alike > 0 && accepted.estimate.entries > 0);
  accepted.output = {accepted.estimate.output.f, accepted.estimate.output.n, head.output_type,
                     VolumeOrder::plane_major};
  accepted.output.n.z += head.first_plane;
  const Result<void> leased = lease(accepted);
  return leased ? leased : leased.error().within("model " + in_quotes(record_.model));
}

Result<void> VolumeCall::lease(const Accepted& accepted) {
  VolumeShape slab = accepted.output;
  slab.n.z = accepted.estimate.slab_planes;
  const std::int64_t slabs = accepted.estimate.slabs;
  const std::int64_t plane = plane_bytes(accepted.head.volume);
  const std::int64_t left = accepted.head.volume.n.z - accepted.head.first_plane;
  const std::int64_t least =
      accepted.in_memory ? left : std::clamp<std::int64_t>(accepted.estimate.input_planes, 1, left);
  const std::int64_t list_bytes = accepted.estimate.list_bytes;
  wanted_bytes_ = add(add(mul(slabs, volume_bytes(slab)), mul(least, plane)), list_bytes);
  // Reserves output before input that is read ahead, which is leased only if there is memory for it.
  if (Result<void> reserved = blocks_.reserve(volume_bytes(slab), slabs); !reserved) return reserved;
  const std::int64_t ahead = std::clamp(door_.limits.max_input_bytes / plane, least, left);
  std::int64_t input_bytes = mul(ahead, plane);
  Result<TransportLease> input_lease = door_.models.lease(add(input_bytes, list_bytes));
  if (!input_lease && ahead > least) {
    input_bytes = mul(least, plane);
    input_lease = door_.models.lease(add(input_bytes, list_bytes));
  }
  if (!input_lease) return input_lease.error();
  input_lease_ = *std::move(input_lease);
  Result<Bytes> input = Bytes::allocate(input_bytes);
  if (!input) return input.error();
  input_ = *std::move(input);
  held_bytes_ = add(input_bytes, mul(slabs, volume_bytes(slab)));
  return {};
}

Result<void> VolumeCall::greet(const Accepted& accepted) {
  v1::VolumeResponse response;
  v1::VolumeAccepted& message = *response.mutable_accepted();
  message.set_channels(accepted.output.f);
  set_extent(accepted.output.n, *message.mutable_extent());
  message.set_datatype(std::string(datatype(accepted.output.type)));
  set_extent(accepted.model.field_of_view, *message.mutable_field_of_view());
  set_extent(accepted.estimate.patch, *message.mutable_patch());
  message.set_patches(accepted.estimate.patches);
  message.set_predicted_seconds(accepted.estimate.predicted_seconds);
  if (!accepted.head.whole && accepted.model.is_resumable()) message.set_resume_token(accepted.token);
  message.set_model_token(model_token(accepted.model));
  accepted_ = Clock::now();
  if (!write(response)) return caller_gone();
  return {};
}

Result<void> VolumeCall::stream(const Accepted& accepted, const WatchedCall& call) {
  const std::int64_t plane = plane_bytes(accepted.head.volume);
  PlaneRing ring(input_.span(), accepted.head.volume, accepted.head.first_plane);
  SlabSender sender(accepted.output, accepted.head.first_plane, blocks_, door_.limits.max_unsent_bytes,
                    [this](const v1::VolumeResponse& response) { return send(response); });
  VolumeReceiver receiver(
      ring, mul(accepted.head.first_plane, plane), volume_bytes(accepted.head.volume),
      [this](v1::VolumeRequest& request) { return read_more(request); }, [this] { return why_ended(); });
  Result<void> done = compute_and_send(accepted, ring, receiver, sender, call.token());
  input_wait_.reset();
  // A client that keeps silent can only be woken by ending its call.
  if (!done && !receiver.abandon(patience)) context_.TryCancel();
  return done;
}

Result<void> VolumeCall::compute_and_send(const Accepted& accepted, PlaneRing& ring, VolumeReceiver& receiver,
                                          SlabSender& sender, const std::stop_token& stop) {
  const Result<JobStatistics> done = compute(accepted, ring, sender, stop);
  if (!done) return done.error();
  computed_ = Clock::now();
  record_.queue_seconds = done->queued + done->yielded;
  record_.compute_seconds = done->seconds - done->yielded;
  record_.layers = layer_text(accepted.model, done->stages);
  record_.patches = done->patches;
  record_.nonfinite_voxels = done->replaced;
  record_.voxels = voxels(accepted.estimate.output.n);
  if (Result<void> sent = sender.finish(); !sent) return sent;
  if (!sender.complete()) return Error{ErrorCode::internal, "the engine left out planes of the output"};
  return finish(receiver, sender.sent_bytes(), *done);
}

Result<JobStatistics> VolumeCall::compute(const Accepted& accepted, PlaneRing& ring, SlabSender& sender,
                                          const std::stop_token& stop) {
  VolumeJob job = make_volume_job({input_.data(), accepted.head.volume}, sender);
  if (accepted.in_memory) {
    const Stall::Wait wait(input_stall_);
    ring.want({0, accepted.head.volume.n.z});
    if (Result<void> came = ring.wait(stop); !came) return came.error();
  } else {
    job.input.source = &ring;
    job.sink.has_room = [this, &ring, &sender] { return can_go_on(ring, sender); };
  }
  job.sink.first_plane = accepted.head.first_plane;
  job.input.normalised = accepted.head.normalised;
  job.schedule.priority = accepted.head.priority;
  job.schedule.model = accepted.model.number;
  job.schedule.rung = accepted.estimate.rung;
  job.schedule.max_held = accepted.estimate.max_held;
  job.account.held_bytes = held_bytes_;
  job.sink.type = accepted.head.output_type;
  job.account.gained = [this](const JobGain& gain) { door_.note(record_, gain); };
  return door_.models.run(accepted.model.name, accepted.model.version, std::move(job), stop);
}

bool VolumeCall::can_go_on(const PlaneRing& ring, SlabSender& sender) {
  const bool here = ring.here();
  if (here) input_wait_.reset();
  if (!here && !input_wait_) input_wait_.emplace(input_stall_);
  const bool room = here && sender.has_room();
  // Asked again and again while the answer is no.
  const Clock::time_point now = Clock::now();
  if (waits_for_ != nullptr) *waits_for_ += std::chrono::duration<double>(now - waits_since_).count();
  waits_for_ = !here ? &record_.input_wait_seconds : !room ? &record_.output_wait_seconds : nullptr;
  waits_since_ = now;
  return room;
}

Result<void> VolumeCall::finish(VolumeReceiver& receiver, std::int64_t sent_bytes, const JobStatistics& statistics) {
  {
    const Stall::Wait wait(input_stall_);
    if (Result<void> received = receiver.finish(); !received)
      return received.error().within("model " + in_quotes(record_.model));
  }
  record_.receive_seconds = std::chrono::duration<double>(receiver.ended_at() - start_).count();
  v1::VolumeResponse response;
  v1::VolumeDone& message = *response.mutable_done();
  message.set_bytes(sent_bytes);
  message.set_seconds(seconds_since(accepted_));
  message.set_voxels_per_second(statistics.voxels_per_second);
  message.set_fallback(statistics.fallback);
  message.set_nonfinite_voxels(statistics.replaced);
  if (!write(response)) return caller_gone();
  return {};
}

bool VolumeCall::read(v1::VolumeRequest& request) {
  grpc::ByteBuffer wire;
  if (!stream_.Read(&wire)) return false;
  if (Result<void> parsed = parse(wire, max_chunk_bytes + max_small_message_bytes, request); !parsed) {
    no_message_ = parsed.error();
  }
  return !no_message_;
}

bool VolumeCall::read_first(v1::VolumeRequest& request) {
  const Stall::Wait wait(header_stall_);
  return read(request);
}

bool VolumeCall::read_more(v1::VolumeRequest& request) {
  if (!read(request)) return false;
  input_stall_.restart();
  CallFlow flow;
  flow.bytes_in = static_cast<std::int64_t>(request.chunk().data().size());
  received_bytes_ += flow.bytes_in;
  door_.note(record_, std::move(flow));
  return true;
}

bool VolumeCall::write(const v1::VolumeResponse& response) {
  const Stall::Wait wait(output_stall_);
  return stream_.Write(response);
}

bool VolumeCall::send(const v1::VolumeResponse& response) {
  if (!write(response)) return false;
  CallFlow flow;
  flow.bytes_out = static_cast<std::int64_t>(response.chunk().data().size());
  sent_bytes_ += flow.bytes_out;
  door_.note(record_, std::move(flow));
  return true;
}

void VolumeCall::record_end(const Result<void>& result) {
  record_.bytes_in = received_bytes_;
  record_.bytes_out = sent_bytes_;
  door_.note_end(result, model_ ? &*model_ : nullptr, wanted_bytes_, record_);
  record_.seconds = seconds_since(start_);
  record_.send_seconds = computed_ == Clock::time_point() ? 0 : seconds_since(computed_);
  door_.record(record_);
}

}  // namespace znni::rpc
