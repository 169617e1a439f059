// The extensions of the protocol that this daemon does not offer: each answers UNIMPLEMENTED, in words. Of CUDA's
// shared memory there is never any: asking for its state and giving it up are answered so.
#pragma once

#include "proto/inference.grpc.pb.h"

namespace znni::rpc {

class UnofferedMethods : public inference::GRPCInferenceService::Service {
 public:
  grpc::Status CudaSharedMemoryStatus(grpc::ServerContext* context,
                                      const inference::CudaSharedMemoryStatusRequest* request,
                                      inference::CudaSharedMemoryStatusResponse* response) override;
  grpc::Status CudaSharedMemoryRegister(grpc::ServerContext* context,
                                        const inference::CudaSharedMemoryRegisterRequest* request,
                                        inference::CudaSharedMemoryRegisterResponse* response) override;
  grpc::Status CudaSharedMemoryUnregister(grpc::ServerContext* context,
                                          const inference::CudaSharedMemoryUnregisterRequest* request,
                                          inference::CudaSharedMemoryUnregisterResponse* response) override;
  grpc::Status TraceSetting(grpc::ServerContext* context, const inference::TraceSettingRequest* request,
                            inference::TraceSettingResponse* response) override;
};

}  // namespace znni::rpc
