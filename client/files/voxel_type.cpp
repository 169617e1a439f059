#include "client/files/voxel_type.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "primitives/core/half.hpp"

namespace znni::client {
namespace {

struct Row {
  VoxelType type;
  VoxelKind kind;
  std::int64_t bytes;
};
constexpr std::array<Row, 11> table = {{{VoxelType::u8, VoxelKind::unsigned_whole, 1},
                                        {VoxelType::u16, VoxelKind::unsigned_whole, 2},
                                        {VoxelType::u32, VoxelKind::unsigned_whole, 4},
                                        {VoxelType::u64, VoxelKind::unsigned_whole, 8},
                                        {VoxelType::i8, VoxelKind::signed_whole, 1},
                                        {VoxelType::i16, VoxelKind::signed_whole, 2},
                                        {VoxelType::i32, VoxelKind::signed_whole, 4},
                                        {VoxelType::i64, VoxelKind::signed_whole, 8},
                                        {VoxelType::f16, VoxelKind::real, 2},
                                        {VoxelType::f32, VoxelKind::real, 4},
                                        {VoxelType::f64, VoxelKind::real, 8}}};

const Row& row(VoxelType type) { return table[static_cast<std::size_t>(type)]; }

// Returns the name of a type of which `prefixes` has the beginning for each kind.
std::string name_of(VoxelType type, const std::array<const char*, 3>& prefixes) {
  return prefixes[static_cast<std::size_t>(kind_of(type))] + std::to_string(8 * voxel_bytes(type));
}

struct Half {
  std::uint16_t bits = 0;
  operator float() const { return float_from_half(bits); }  // as the other types of numbers convert
};

// Calls use(number), with a number of `type`.
template <class Use>
void with_number_of(VoxelType type, Use use) {
  switch (type) {
    case VoxelType::u8: return use(std::uint8_t());
    case VoxelType::u16: return use(std::uint16_t());
    case VoxelType::u32: return use(std::uint32_t());
    case VoxelType::u64: return use(std::uint64_t());
    case VoxelType::i8: return use(std::int8_t());
    case VoxelType::i16: return use(std::int16_t());
    case VoxelType::i32: return use(std::int32_t());
    case VoxelType::i64: return use(std::int64_t());
    case VoxelType::f16: return use(Half());
    case VoxelType::f32: return use(float());
    case VoxelType::f64: return use(double());
  }
}

template <class Number>
Number number_at(std::span<const std::byte> in, std::size_t i) {
  Number number{};
  std::memcpy(&number, in.data() + i * sizeof(Number), sizeof(Number));
  return number;
}

// Returns false for a whole number beyond 2^24.
template <class Number>
bool is_exact(Number number) {
  if constexpr (std::is_integral_v<Number> && sizeof(Number) >= sizeof(float)) {
    constexpr Number last = Number{1} << 24;
    return number <= last && (std::is_unsigned_v<Number> || number >= Number{} - last);
  } else {
    return true;
  }
}

template <class Number>
Error inexact(Number number, VoxelType type) {
  return {ErrorCode::unsupported, "voxel " + std::to_string(number) + " of type " + numpy_name(type) +
                                      " found, expected 16777216 at most, up to which float32 holds each whole number"};
}

}  // namespace

VoxelKind kind_of(VoxelType type) { return row(type).kind; }
std::int64_t voxel_bytes(VoxelType type) { return row(type).bytes; }

std::optional<VoxelType> voxel_type(VoxelKind kind, std::int64_t bytes) {
  for (const Row& one : table) {
    if (one.kind == kind && one.bytes == bytes) return one.type;
  }
  return std::nullopt;
}

std::string wire_name(VoxelType type) { return name_of(type, {"UINT", "INT", "FP"}); }
std::string numpy_name(VoxelType type) { return name_of(type, {"uint", "int", "float"}); }

Error not_read(const std::string& label, const std::string& found) {
  return {ErrorCode::unsupported,
          label + ": " + found + " found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 or 64"};
}

VoxelType sent_type(VoxelType type) {
  const bool is_sent = type == VoxelType::u8 || type == VoxelType::u16 || type == VoxelType::f16;
  return is_sent ? type : VoxelType::f32;
}

Result<VoxelType> parse_output_type(const std::string& name) {
  for (const VoxelType type : {VoxelType::f32, VoxelType::f16, VoxelType::u8}) {
    if (name == numpy_name(type)) return type;
  }
  return Error{ErrorCode::invalid_argument, name + ": use float32, float16 or uint8"};
}

void swap_bytes(std::span<std::byte> voxels, std::int64_t width) {
  for (auto at = voxels.begin(); at != voxels.end(); at += width) std::reverse(at, at + width);
}

Result<void> to_float32(std::span<const std::byte> in, VoxelType type, std::span<float> out) {
  Result<void> exact;
  with_number_of(type, [&]<class Number>(Number) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = number_at<Number>(in, i);
      if (!is_exact(number)) return static_cast<void>(exact = inexact(number, type));
      out[i] = static_cast<float>(number);
    }
  });
  return exact;
}

void normalise(std::span<const std::byte> in, VoxelType type, float scale, float offset, std::span<float> out) {
  with_number_of(type, [&]<class Number>(Number) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = static_cast<double>(number_at<Number>(in, i));
      out[i] = static_cast<float>(number * static_cast<double>(scale) + static_cast<double>(offset));
    }
  });
}

}  // namespace znni::client
