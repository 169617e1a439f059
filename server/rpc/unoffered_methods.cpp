#include "server/rpc/unoffered_methods.hpp"

#include <string>

#include "server/rpc/status_map.hpp"

namespace znni::rpc {
namespace {

grpc::Status unoffered(std::string message) { return to_status(Error{ErrorCode::unsupported, std::move(message)}); }

grpc::Status no_shared_memory() { return unoffered("shared memory is not offered; send the data in the message"); }

}  // namespace

grpc::Status UnofferedMethods::ModelStreamInfer(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<inference::ModelStreamInferResponse, inference::ModelInferRequest>*) {
  return unoffered("streaming inference of the protocol is not offered; use the stream znni.v1.Volumes");
}

grpc::Status UnofferedMethods::RepositoryModelLoad(grpc::ServerContext*, const inference::RepositoryModelLoadRequest*,
                                                   inference::RepositoryModelLoadResponse*) {
  return unoffered("models are loaded at start only");
}

grpc::Status UnofferedMethods::RepositoryModelUnload(grpc::ServerContext*,
                                                     const inference::RepositoryModelUnloadRequest*,
                                                     inference::RepositoryModelUnloadResponse*) {
  return unoffered("models are loaded at start only");
}

grpc::Status UnofferedMethods::SystemSharedMemoryStatus(grpc::ServerContext*,
                                                        const inference::SystemSharedMemoryStatusRequest*,
                                                        inference::SystemSharedMemoryStatusResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::SystemSharedMemoryRegister(grpc::ServerContext*,
                                                          const inference::SystemSharedMemoryRegisterRequest*,
                                                          inference::SystemSharedMemoryRegisterResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::SystemSharedMemoryUnregister(grpc::ServerContext*,
                                                            const inference::SystemSharedMemoryUnregisterRequest*,
                                                            inference::SystemSharedMemoryUnregisterResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::CudaSharedMemoryStatus(grpc::ServerContext*,
                                                      const inference::CudaSharedMemoryStatusRequest*,
                                                      inference::CudaSharedMemoryStatusResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::CudaSharedMemoryRegister(grpc::ServerContext*,
                                                        const inference::CudaSharedMemoryRegisterRequest*,
                                                        inference::CudaSharedMemoryRegisterResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::CudaSharedMemoryUnregister(grpc::ServerContext*,
                                                          const inference::CudaSharedMemoryUnregisterRequest*,
                                                          inference::CudaSharedMemoryUnregisterResponse*) {
  return no_shared_memory();
}

grpc::Status UnofferedMethods::TraceSetting(grpc::ServerContext*, const inference::TraceSettingRequest*,
                                            inference::TraceSettingResponse*) {
  return unoffered("tracing is not offered");
}

grpc::Status UnofferedMethods::LogSettings(grpc::ServerContext*, const inference::LogSettingsRequest*,
                                           inference::LogSettingsResponse*) {
  return unoffered("log settings are fixed at start");
}

}  // namespace znni::rpc
