// The Open Inference Protocol v2 over gRPC: six core methods, and Triton's extensions as far as they mean something
// here.
#pragma once

#include "proto/inference.pb.h"
#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/calls/raw_service.hpp"
#include "server/rpc/inference/stream_infer.hpp"

namespace znni::rpc {

// ModelInfer is served as a stream of one message each way (the wire is the same). So this code decides when the
// request is read and let go, and when the response's memory is given back.
class OpenInference final : public RawService {
 public:
  using InferStream = grpc::ServerUnaryStreamer<grpc::ByteBuffer, inference::ModelInferResponse>;

  explicit OpenInference(FrontDoor& door);

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response);
  grpc::Status ServerReady(grpc::ServerContext* context, const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response);
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response);
  grpc::Status ServerMetadata(grpc::ServerContext* context, const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response);
  grpc::Status ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response);
  grpc::Status ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response);
  grpc::Status ModelStatistics(grpc::ServerContext* context, const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response);
  grpc::Status RepositoryIndex(grpc::ServerContext* context, const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response);
  grpc::Status RepositoryModelLoad(grpc::ServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                   inference::RepositoryModelLoadResponse* response);
  grpc::Status RepositoryModelUnload(grpc::ServerContext* context,
                                     const inference::RepositoryModelUnloadRequest* request,
                                     inference::RepositoryModelUnloadResponse* response);
  grpc::Status LogSettings(grpc::ServerContext* context, const inference::LogSettingsRequest* request,
                           inference::LogSettingsResponse* response);
  grpc::Status SystemSharedMemoryStatus(grpc::ServerContext* context,
                                        const inference::SystemSharedMemoryStatusRequest* request,
                                        inference::SystemSharedMemoryStatusResponse* response);
  grpc::Status SystemSharedMemoryRegister(grpc::ServerContext* context,
                                          const inference::SystemSharedMemoryRegisterRequest* request,
                                          inference::SystemSharedMemoryRegisterResponse* response);
  grpc::Status SystemSharedMemoryUnregister(grpc::ServerContext* context,
                                            const inference::SystemSharedMemoryUnregisterRequest* request,
                                            inference::SystemSharedMemoryUnregisterResponse* response);
  grpc::Status CudaSharedMemoryStatus(grpc::ServerContext* context,
                                      const inference::CudaSharedMemoryStatusRequest* request,
                                      inference::CudaSharedMemoryStatusResponse* response);
  grpc::Status CudaSharedMemoryRegister(grpc::ServerContext* context,
                                        const inference::CudaSharedMemoryRegisterRequest* request,
                                        inference::CudaSharedMemoryRegisterResponse* response);
  grpc::Status CudaSharedMemoryUnregister(grpc::ServerContext* context,
                                          const inference::CudaSharedMemoryUnregisterRequest* request,
                                          inference::CudaSharedMemoryUnregisterResponse* response);
  grpc::Status TraceSetting(grpc::ServerContext* context, const inference::TraceSettingRequest* request,
                            inference::TraceSettingResponse* response);
  grpc::Status ModelStreamInfer(grpc::ServerContext* context, InferResponseStream* stream);
  grpc::Status ModelInfer(grpc::ServerContext* context, InferStream* stream);

 private:
  // Returns OK if the caller may load and unload models and this daemon does that.
  [[nodiscard]] grpc::Status may_manage(const grpc::ServerContext* context) const;
  // Returns OK if the caller may use models; the calls of probes need no token.
  [[nodiscard]] grpc::Status may_infer(const grpc::ServerContext* context) const {
    return door_.guard.check(*context, Access::infer);
  }
  // Returns OK if the caller may use shared memory: it may use models, this daemon offers it, both are on one host.
  [[nodiscard]] grpc::Status may_share(const grpc::ServerContext* context) const;
};

}  // namespace znni::rpc
