#include "server/volume/checked_source.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "server/volume/element.hpp"

namespace znni {
namespace {

constexpr std::uint32_t float_exponent = 0x7f800000U;
constexpr std::uint16_t half_exponent = 0x7c00U;

// Counts the voxels whose exponent has all bits set. The loop compares bits alone, so that the compiler vectorizes it.
template <class Bits>
std::int64_t count_of(const std::byte* data, std::int64_t count, Bits exponent) {
  constexpr std::int64_t block = 4096;  // its count fits into any Bits
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t last = std::min(count, first + block);
    Bits found = 0;
    for (std::int64_t i = first; i < last; ++i) {
      Bits bits = 0;
      std::memcpy(&bits, data + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
      found = static_cast<Bits>(found + static_cast<Bits>((bits & exponent) == exponent));
    }
    sum += found;
  }
  return sum;
}

// Returns the position of the first of `count` voxels that is not finite; there is one.
std::int64_t first_of(ElementType type, const std::byte* data, std::int64_t count) {
  std::int64_t at = 0;
  while (at < count && count_nonfinite(type, data + at * element_bytes(type), 1) == 0) ++at;
  return at;
}

Error refused(std::int64_t channel, std::int64_t z, const VolumeShape& shape, const std::byte* plane) {
  const std::int64_t at = first_of(shape.type, plane, shape.n.y * shape.n.x);
  float value = 0;
  read_row(shape.type, plane + at * element_bytes(shape.type), 1, {}, &value);
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  return {ErrorCode::invalid_argument,
          "the input voxel at channel " + text(channel) + ", z " + text(z) + ", y " + text(at / shape.n.x) + ", x " +
              text(at % shape.n.x) + " is " + std::to_string(value) +
              ", which would spoil the output around it: send finite voxels, or have the model's config.pbtxt name "
              "the number to take for such voxels in parameter input_nonfinite"};
}

}  // namespace

bool can_be_nonfinite(ElementType type) { return type == ElementType::f32 || type == ElementType::f16; }

std::int64_t count_nonfinite(ElementType type, const std::byte* data, std::int64_t count) {
  if (type == ElementType::f32) return count_of(data, count, float_exponent);
  return type == ElementType::f16 ? count_of(data, count, half_exponent) : 0;
}

void CheckedSource::want(const PlaneRange& planes) {
  wanted_ = planes;
  source_.want(planes);
}

Result<void> CheckedSource::wait(const std::stop_token& stop) {
  if (Result<void> came = source_.wait(stop); !came || !can_be_nonfinite(shape().type)) return came;
  for (checked_ = std::max(checked_, wanted_.first); checked_ < wanted_.last; ++checked_) {
    for (std::int64_t channel = 0; channel < shape().f; ++channel) {
      if (Result<void> sound = check_plane(channel, checked_); !sound) return sound;
    }
  }
  return {};
}

Result<void> CheckedSource::check_plane(std::int64_t channel, std::int64_t z) {
  const std::byte* const data = source_.plane(channel, z);
  const std::int64_t found = count_nonfinite(shape().type, data, shape().n.y * shape().n.x);
  if (found > 0 && !instead_) return refused(channel, z, shape(), data);
  replaced_ += found;
  return {};
}

Result<std::int64_t> check_volume(const VolumeView& volume, std::int64_t first_plane, std::optional<float> instead) {
  WholeVolume whole(volume);
  CheckedSource checked(whole, instead);
  checked.want({first_plane, volume.shape.n.z});
  const Result<void> sound = checked.wait({});
  return sound ? Result<std::int64_t>(checked.replaced()) : sound.error();
}

}  // namespace znni
