#include "client/files/sent_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace znni::client {
namespace {

constexpr std::size_t block_values = 4096;

// Reads planes of a source, and makes them float32. Voxels that are no wider than that are read into the end of where
// they go, and become float32 from the first on. Those of 64 bits are held while a plane is read.
class FloatPlanes {
 public:
  FloatPlanes(VolumeSource source, std::string label, std::string mend)
      : source_(std::move(source)), label_(std::move(label)), mend_(std::move(mend)) {}

  Result<void> read(std::int64_t z, const Box& box, std::span<std::byte> out) {
    const std::size_t count = out.size() / sizeof(float);
    const std::size_t bytes = count * bytes_each();
    const auto wide = bytes > out.size() ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
    const std::span<std::byte> stored = wide ? std::span(wide.get(), bytes) : out.last(bytes);
    if (Result<void> done = source_.read_plane(z, box, stored); !done) return done;
    for (std::size_t first = 0; first < count; first += block_values) {
      if (Result<void> done = convert(stored, first, std::min(block_values, count - first), out); !done) return done;
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t bytes_each() const { return static_cast<std::size_t>(voxel_bytes(source_.facts.type)); }

  // Writes values [first, first + count) of the plane `stored` to their place in `out`, which need not be aligned, and
  // at whose end the voxels of `stored` may lie: values end before the next of them begin.
  Result<void> convert(std::span<const std::byte> stored, std::size_t first, std::size_t count,
                       std::span<std::byte> out) {
    const std::span<const std::byte> voxels = stored.subspan(first * bytes_each(), count * bytes_each());
    const std::span<float> values = std::span(values_).first(count);
    if (const Result<void> exact = to_float32(voxels, source_.facts.type, values); !exact) {
      return Error{exact.error().code, label_ + ": " + exact.error().message + ": " + mend_};
    }
    std::memcpy(out.data() + first * sizeof(float), values.data(), count * sizeof(float));
    return {};
  }

  VolumeSource source_;
  std::string label_;
  std::string mend_;
  std::array<float, block_values> values_;
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
