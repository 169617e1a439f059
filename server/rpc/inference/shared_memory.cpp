#include "server/rpc/inference/shared_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "primitives/core/shape.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/base/status_map.hpp"

namespace znni::rpc {
namespace {

constexpr std::size_t max_name_bytes = 256;

// Clamps a number that is too large to be signed: it is too large anyway.
std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(saturated)));
}

void describe_region(const std::string& name, const SharedRegion& region,
                     inference::SystemSharedMemoryStatusResponse& response) {
  auto& status = (*response.mutable_regions())[name];
  status.set_name(name);
  status.set_key(region.key());
  status.set_offset(static_cast<std::uint64_t>(region.offset()));
  status.set_byte_size(static_cast<std::uint64_t>(region.bytes()));
}

}  // namespace

grpc::Status register_region(const inference::SystemSharedMemoryRegisterRequest& request, SharedRegions& regions) {
  if (request.name().empty() || request.name().size() > max_name_bytes) {
    return to_status(
        Error{ErrorCode::invalid_argument, "name of a shared memory region: " + std::to_string(request.name().size()) +
                                               " bytes found, expected 1 to 256"});
  }
  Result<RegionHandle> region =
      SharedRegion::open(request.key(), as_signed(request.offset()), as_signed(request.byte_size()));
  if (!region) return to_status(region.error().within("region " + in_quotes(request.name())));
  const Result<bool> added = regions.add(request.name(), std::move(*region));
  if (!added) return to_status(added.error());
  if (*added) return grpc::Status::OK;
  return already_exists("shared memory region " + in_quotes(request.name()) + " is registered already");
}

grpc::Status describe_regions(const inference::SystemSharedMemoryStatusRequest& request, const SharedRegions& regions,
                              inference::SystemSharedMemoryStatusResponse& response) {
  if (!request.name().empty()) {
    const Result<RegionHandle> region = regions.find(request.name());
    if (!region) return to_status(region.error());
    describe_region(request.name(), **region, response);
    return grpc::Status::OK;
  }
  for (const auto& [name, region] : regions.all()) describe_region(name, *region, response);
  return grpc::Status::OK;
}

grpc::Status shared_memory_is_off() {
  return to_status(Error{ErrorCode::unsupported,
                         "shared memory is off (znnid --allow-client-shm allows it); send the data in the message"});
}

grpc::Status shared_memory_is_local() {
  return to_status(Error{ErrorCode::unsupported,
                         "shared memory is for clients that reach znnid by a loopback address of its host; send the "
                         "data in the message"});
}

}  // namespace znni::rpc
