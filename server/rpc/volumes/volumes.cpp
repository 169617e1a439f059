#include "server/rpc/volumes/volumes.hpp"

#include <chrono>
#include <utility>

#include "primitives/core/clock_time.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/connections/peer_address.hpp"
#include "server/rpc/volumes/volume_outlook.hpp"

namespace znni::rpc {
namespace {

// Records the question like a call that was inside.
void note(FrontDoor& door, const v1::VolumeHeader& header, double seconds, const Result<void>& result) {
  CallRecord call;
  call.method = "Outlook";
  call.model = one_line(header.model_name(), 80);
  call.id = one_line(header.id(), 80);
  const Result<ModelInfo> model = door.models.find(header.model_name(), header.model_version());
  if (model) call.version = model->version;
  door.note_end(result, model ? &*model : nullptr, 0, call);
  call.seconds = seconds;
  door.record(std::move(call));
}

}  // namespace

VolumesService::VolumesService(FrontDoor& door) : RawService(door) {
  add_stream("/znni.v1.Volumes/Infer", &VolumesService::Infer);
  add_small("/znni.v1.Volumes/Outlook", &VolumesService::Outlook);
}

grpc::Status VolumesService::Infer(grpc::ServerContext* context, VolumeCall::Stream* stream) {
  if (grpc::Status refused = door_.guard.check(*context, Access::infer); !refused.ok())
    return door_.refuse("Volumes", refused);
  const Result<CallPass> pass = door_.gate.enter(client_of_peer(context->peer()));
  if (!pass) return door_.refuse("Volumes", to_status(pass.error()));
  return to_status(VolumeCall(door_, *context, *stream).run());
}

grpc::Status VolumesService::Outlook(grpc::ServerContext* context, const v1::VolumeHeader* request,
                                     v1::VolumeOutlook* response) {
  if (grpc::Status refused = door_.guard.check(*context, Access::infer); !refused.ok())
    return door_.refuse("Outlook", refused);
  const Result<CallPass> pass = door_.gate.enter(client_of_peer(context->peer()));
  if (!pass) return door_.refuse("Outlook", to_status(pass.error()));
  const auto start = std::chrono::steady_clock::now();
  const WatchedCall call = door_.watch.watch([context] { return gone(*context); });
  Result<v1::VolumeOutlook> estimate = volume_outlook(*request, door_.models, call.token());
  const Result<void> result = estimate ? Result<void>() : call.reason(estimate.error());
  note(door_, *request, seconds_since(start), result);
  if (estimate) *response = *std::move(estimate);
  return to_status(result);
}

}  // namespace znni::rpc
