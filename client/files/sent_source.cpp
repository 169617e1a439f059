#include "client/files/sent_source.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace znni::client {
namespace {

// Reads planes of a source, and makes them float32.
class FloatPlanes {
 public:
  FloatPlanes(VolumeSource source, std::string label, std::string mend)
      : source_(std::move(source)), label_(std::move(label)), mend_(std::move(mend)) {}

  Result<void> read(std::int64_t z, const Box& box, std::span<std::byte> out) {
    values_.resize(out.size() / sizeof(float));
    voxels_.resize(values_.size() * static_cast<std::size_t>(voxel_bytes(source_.facts.type)));
    if (Result<void> done = source_.read_plane(z, box, voxels_); !done) return done;
    if (const Result<void> exact = to_float32(voxels_, source_.facts.type, values_); !exact) {
      return Error{exact.error().code, label_ + ": " + exact.error().message + ": " + mend_};
    }
    std::memcpy(out.data(), values_.data(), out.size());
    return {};
  }

 private:
  VolumeSource source_;
  std::string label_;
  std::string mend_;
  std::vector<std::byte> voxels_;
  std::vector<float> values_;
};

}  // namespace

VolumeSource as_sent(VolumeSource source, const std::string& label, const std::string& mend) {
  VolumeSource sent = source;
  sent.facts.type = sent_type(source.facts.type);
  if (sent.facts.type == source.facts.type) return sent;
  sent.read_plane = [planes = FloatPlanes(std::move(source), label, mend)](std::int64_t z, const Box& box,
                                                                           std::span<std::byte> out) mutable {
    return planes.read(z, box, out);
  };
  return sent;
}

}  // namespace znni::client
