// stream HOST:PORT MODEL: streams a volume of zeros, three planes larger than the model's field of view, through it.
// Prints the extents of the output and its first voxel.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "client/cpp/volume_client.hpp"

namespace {

using znni::client::Accepted;

// Returns the extents and the first voxel of the output as text.
znni::Result<std::string> stream(const znni::client::Connection& connection, const std::string& name) {
  const auto model = connection.model(name);
  if (!model) return model.error();
  znni::client::VolumeRequest request{.model = name, .datatype = "UINT8", .output_datatype = "FP32"};
  request.channels = model->f_in;
  request.n = model->field_of_view + znni::Vec3{3, 0, 0};
  znni::Vec3 extents;
  float first = 0;
  znni::client::VolumeHandlers handlers;
  handlers.read = [](std::int64_t, std::span<std::byte> plane) -> znni::Result<void> {
    std::memset(plane.data(), 0, plane.size());
    return {};
  };
  handlers.accepted = [&](const Accepted& accepted) -> znni::Result<void> {
    extents = accepted.n;
    return {};
  };
  handlers.write = [&](std::int64_t plane, std::span<const std::byte> bytes) -> znni::Result<void> {
    if (plane == 0) std::memcpy(&first, bytes.data(), sizeof(first));
    return {};
  };
  const auto summary = znni::client::infer(connection, request, handlers, {});
  if (!summary) return summary.error();
  return znni::to_string(extents) + " " + std::to_string(first);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto said = stream(znni::client::Connection(arguments[1]), arguments[2]);
  std::fprintf(said ? stdout : stderr, "%s\n", said ? said->c_str() : said.error().message.c_str());
  return said ? 0 : 1;
}
