// Streams of volumes: a header and chunks, each message with two bytes of length before it. A volume that is complete
// was written once, from its first byte to its last.
#include <algorithm>
#include <string_view>
#include <vector>

#include "proto/volumes.pb.h"
#include "server/rpc/volumes/volume_checks.hpp"
#include "server/rpc/volumes/volume_upload.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace znni;

constexpr std::int64_t max_volume_bytes = 1 << 16;

ModelInfo model() {
  ModelInfo model;
  model.name = "net";
  model.f_in = 1;
  model.field_of_view = Vec3::cube(3);
  return model;
}

// Takes the next message's bytes off `left`.
std::string_view next(std::string_view& left) {
  if (left.size() < 2) return left = {};
  const std::size_t length = static_cast<unsigned char>(left[0]) + 256U * static_cast<unsigned char>(left[1]);
  const std::string_view message = left.substr(2, length);
  left.remove_prefix(std::min(left.size(), 2 + length));
  return message;
}

v1::VolumeRequest parse(std::string_view bytes) {
  v1::VolumeRequest request;
  static_cast<void>(request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return request;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  const Result<rpc::VolumeHead> head = rpc::check_volume_header(parse(next(left)).header(), model());
  if (!head || volume_bytes(head->volume) > max_volume_bytes) return 0;
  const std::int64_t bytes = volume_bytes(head->volume);
  std::int64_t taken = 0;
  rpc::VolumeUpload upload(0, bytes, [&taken](std::span<const std::byte> part) -> Result<void> {
    taken += std::ssize(part);
    return {};
  });
  while (!left.empty()) {
    const v1::VolumeRequest request = parse(next(left));
    if (!upload.add(request.chunk())) return 0;
  }
  ensure(taken <= bytes, "no more is taken than the volume has");
  ensure(upload.finish().has_value() == (taken == bytes), "a volume is complete when all its bytes have come");
  return 0;
}
