#include "server/rpc/unoffered_methods.hpp"

#include <string>

#include "server/rpc/client_text.hpp"
#include "server/rpc/status_map.hpp"

namespace znni::rpc {
namespace {

grpc::Status unoffered(std::string message) { return to_status(Error{ErrorCode::unsupported, std::move(message)}); }

}  // namespace

grpc::Status UnofferedMethods::CudaSharedMemoryStatus(grpc::ServerContext*,
                                                      const inference::CudaSharedMemoryStatusRequest* request,
                                                      inference::CudaSharedMemoryStatusResponse*) {
  if (request->name().empty()) return grpc::Status::OK;
  return to_status(
      Error{ErrorCode::not_found, "CUDA shared memory region " + in_quotes(request->name()) + " is not registered"});
}

grpc::Status UnofferedMethods::CudaSharedMemoryRegister(grpc::ServerContext*,
                                                        const inference::CudaSharedMemoryRegisterRequest*,
                                                        inference::CudaSharedMemoryRegisterResponse*) {
  return unoffered("CUDA shared memory is not offered; send the data in the message");
}

grpc::Status UnofferedMethods::CudaSharedMemoryUnregister(grpc::ServerContext*,
                                                          const inference::CudaSharedMemoryUnregisterRequest*,
                                                          inference::CudaSharedMemoryUnregisterResponse*) {
  return grpc::Status::OK;
}

grpc::Status UnofferedMethods::TraceSetting(grpc::ServerContext*, const inference::TraceSettingRequest*,
                                            inference::TraceSettingResponse*) {
  return unoffered("tracing is not offered; the log and the metrics tell the times of every request");
}

}  // namespace znni::rpc
