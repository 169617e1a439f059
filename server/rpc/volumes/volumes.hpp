// The service znni.v1.Volumes (proto/volumes.proto): volumes of any size through one stream.
#pragma once

#include "proto/volumes.pb.h"
#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/calls/raw_service.hpp"
#include "server/rpc/volumes/volume_call.hpp"

namespace znni::rpc {

class VolumesService final : public RawService {
 public:
  explicit VolumesService(FrontDoor& door);

  grpc::Status Infer(grpc::ServerContext* context, VolumeCall::Stream* stream);
  grpc::Status Outlook(grpc::ServerContext* context, const v1::VolumeHeader* request, v1::VolumeOutlook* response);
};

}  // namespace znni::rpc
