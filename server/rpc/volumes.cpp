#include "server/rpc/volumes.hpp"

#include "server/rpc/status_map.hpp"
#include "server/rpc/volume_call.hpp"
#include "server/rpc/volume_outlook.hpp"

namespace znni::rpc {

grpc::Status VolumesService::Infer(grpc::ServerContext* context,
                                   grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>* stream) {
  if (grpc::Status refused = door_.guard.check(*context, Access::infer); !refused.ok())
    return door_.refuse("Volumes", refused);
  const Result<CallPass> pass = door_.gate.enter();
  if (!pass) return door_.refuse("Volumes", to_status(pass.error()));
  return to_status(VolumeCall(door_, *context, *stream).run());
}

grpc::Status VolumesService::Outlook(grpc::ServerContext* context, const v1::VolumeHeader* request,
                                     v1::VolumeOutlook* response) {
  if (grpc::Status refused = door_.guard.check(*context, Access::infer); !refused.ok()) return refused;
  Result<v1::VolumeOutlook> outlook = volume_outlook(*request, door_.models);
  if (!outlook) return to_status(outlook.error());
  *response = *std::move(outlook);
  return grpc::Status::OK;
}

}  // namespace znni::rpc
