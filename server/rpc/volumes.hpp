// The service znni.v1.Volumes (proto/volumes.proto): volumes of any size through one stream.
#pragma once

#include "proto/volumes.grpc.pb.h"
#include "server/rpc/front_door.hpp"

namespace znni::rpc {

class VolumesService final : public v1::Volumes::Service {
 public:
  explicit VolumesService(FrontDoor& door) : door_(door) {}

  grpc::Status Infer(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>* stream) override;
  grpc::Status Outlook(grpc::ServerContext* context, const v1::VolumeHeader* request,
                       v1::VolumeOutlook* response) override;

 private:
  FrontDoor& door_;
};

}  // namespace znni::rpc
