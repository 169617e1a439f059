// The Open Inference Protocol v2 over gRPC: six core methods, model configuration, statistics and index.
#pragma once

#include "server/rpc/front_door.hpp"
#include "server/rpc/unoffered_methods.hpp"

namespace znni::rpc {

// ModelInfer is served as a stream of one message each way (the wire is the same): so the request is read
// and let go, and the response's memory is given back, when we say so.
class OpenInference final
    : public inference::GRPCInferenceService::WithStreamedUnaryMethod_ModelInfer<UnofferedMethods> {
 public:
  explicit OpenInference(FrontDoor& door);

  grpc::Status ServerLive(grpc::ServerContext* context, const inference::ServerLiveRequest* request,
                          inference::ServerLiveResponse* response) override;
  grpc::Status ServerReady(grpc::ServerContext* context, const inference::ServerReadyRequest* request,
                           inference::ServerReadyResponse* response) override;
  grpc::Status ModelReady(grpc::ServerContext* context, const inference::ModelReadyRequest* request,
                          inference::ModelReadyResponse* response) override;
  grpc::Status ServerMetadata(grpc::ServerContext* context, const inference::ServerMetadataRequest* request,
                              inference::ServerMetadataResponse* response) override;
  grpc::Status ModelMetadata(grpc::ServerContext* context, const inference::ModelMetadataRequest* request,
                             inference::ModelMetadataResponse* response) override;
  grpc::Status ModelConfig(grpc::ServerContext* context, const inference::ModelConfigRequest* request,
                           inference::ModelConfigResponse* response) override;
  grpc::Status ModelStatistics(grpc::ServerContext* context, const inference::ModelStatisticsRequest* request,
                               inference::ModelStatisticsResponse* response) override;
  grpc::Status RepositoryIndex(grpc::ServerContext* context, const inference::RepositoryIndexRequest* request,
                               inference::RepositoryIndexResponse* response) override;
  grpc::Status StreamedModelInfer(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<inference::ModelInferRequest, inference::ModelInferResponse>* stream) override;

 private:
  FrontDoor& door_;
};

}  // namespace znni::rpc
