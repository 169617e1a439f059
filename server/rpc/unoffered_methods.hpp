// The extensions of the protocol that this daemon does not offer: each answers UNIMPLEMENTED, in words.
#pragma once

#include "proto/inference.grpc.pb.h"

namespace znni::rpc {

class UnofferedMethods : public inference::GRPCInferenceService::Service {
 public:
  grpc::Status ModelStreamInfer(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<inference::ModelStreamInferResponse, inference::ModelInferRequest>* stream) override;
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response) override;
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response) override;
  grpc::Status SystemSharedMemoryStatus(grpc::ServerContext* context,
                                        const inference::SystemSharedMemoryStatusRequest* request,
                                        inference::SystemSharedMemoryStatusResponse* response) override;
  grpc::Status SystemSharedMemoryRegister(grpc::ServerContext* context,
                                          const inference::SystemSharedMemoryRegisterRequest* request,
                                          inference::SystemSharedMemoryRegisterResponse* response) override;
  grpc::Status SystemSharedMemoryUnregister(grpc::ServerContext* context,
                                            const inference::SystemSharedMemoryUnregisterRequest* request,
                                            inference::SystemSharedMemoryUnregisterResponse* response) override;
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
  grpc::Status LogSettings(grpc::ServerContext* context, const inference::LogSettingsRequest* request,
                           inference::LogSettingsResponse* response) override;
};

}  // namespace znni::rpc
