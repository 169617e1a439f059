// The shared-memory extensions of the protocol: system memory where the daemon allows it, none of CUDA.
#pragma once

#include <grpcpp/support/status.h>

#include "proto/inference.pb.h"
#include "server/rpc/base/shared_regions.hpp"

namespace znni::rpc {

// Registers a region. Fails with ALREADY_EXISTS for a name that is taken, with INVALID_ARGUMENT for a key or sizes that
// are not those of shared memory.
[[nodiscard]] grpc::Status register_region(const inference::SystemSharedMemoryRegisterRequest& request,
                                           SharedRegions& regions);
// Describes one region, or all of them if none is named; fails with NOT_FOUND if there is no such region.
[[nodiscard]] grpc::Status describe_regions(const inference::SystemSharedMemoryStatusRequest& request,
                                            const SharedRegions& regions,
                                            inference::SystemSharedMemoryStatusResponse& response);
// Returns UNIMPLEMENTED, naming the option that allows it.
[[nodiscard]] grpc::Status shared_memory_is_off();
// Returns UNIMPLEMENTED, for callers on other hosts.
[[nodiscard]] grpc::Status shared_memory_is_local();

}  // namespace znni::rpc
