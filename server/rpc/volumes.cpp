#include "server/rpc/volumes.hpp"

#include "server/rpc/status_map.hpp"
#include "server/rpc/volume_call.hpp"

namespace znni::rpc {

grpc::Status VolumesService::Infer(grpc::ServerContext* context,
                                   grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>* stream) {
  if (grpc::Status refused = door_.guard.check(*context, Access::infer); !refused.ok())
    return door_.refuse("Volumes", refused);
  const Result<CallPass> pass = door_.gate.enter();
  if (!pass) return door_.refuse("Volumes", to_status(pass.error()));
  return to_status(VolumeCall(door_, *context, *stream).run());
}

}  // namespace znni::rpc
