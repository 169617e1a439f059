#include "client/files/npy_volume.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t header_alignment = 64;

Error bad(const std::string& path, const std::string& why) { return {ErrorCode::corrupt_file, path + ": " + why}; }

constexpr bool is_little = std::endian::native == std::endian::little;
constexpr char own_order = is_little ? '<' : '>';
constexpr char other_order = is_little ? '>' : '<';
constexpr std::size_t max_shown = 80;      // of a descr, in an error
constexpr std::string_view kinds = "uif";  // as VoxelKind counts them

// Returns "<f4" for f32: byte order, kind and bytes.
std::string descriptor(VoxelType type) {
  const std::int64_t bytes = voxel_bytes(type);
  return std::string{bytes == 1 ? '|' : own_order, kinds[static_cast<std::size_t>(kind_of(type))]} +
         std::to_string(bytes);
}

// How voxels lie in a file.
struct Stored {
  VoxelType type = VoxelType::u8;
  bool is_swapped = false;  // true: in the other byte order than this machine's
};

// Returns what three characters such as "<f4" say; nothing if these are no numbers that are read. Truth values are
// bytes of 0 and 1.
std::optional<Stored> stored_as(std::string_view text) {
  if (text == "|b1") return Stored{};
  const bool has_order = std::string_view("<>=|").find(text[0]) != std::string_view::npos;
  const std::size_t kind = kinds.find(text[1]);
  if (!has_order || kind == std::string_view::npos) return std::nullopt;
  const std::optional<VoxelType> type = voxel_type(static_cast<VoxelKind>(kind), text[2] - '0');
  return type ? std::optional(Stored{*type, text[0] == other_order}) : std::nullopt;
}

Result<Stored> stored_in(const std::string& header, const std::string& path) {
  constexpr std::string_view key = "'descr': ";
  const std::size_t begin = header.find(key);
  if (begin == std::string::npos) return bad(path, "its header has no descr: save it with numpy.save()");
  const std::string_view value = std::string_view(header).substr(begin + key.size());
  const std::size_t end = value.find(value.starts_with('[') ? ']' : '\'', 1);  // of a record's fields, or of the quotes
  const std::string_view text = value.substr(0, end == std::string_view::npos ? end : end + 1);
  const bool is_code = text.size() == 5 && text.starts_with('\'');
  if (const auto stored = is_code ? stored_as(text.substr(1, 3)) : std::nullopt) return *stored;
  return not_read(path, "descr: " + std::string(text.substr(0, max_shown)));
}

// Returns the numbers of "'shape': (4, 5, 6)".
std::vector<std::int64_t> shape_of(const std::string& header) {
  std::vector<std::int64_t> shape;
  const std::size_t open = header.find('(');
  const std::size_t close = header.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return shape;
  for (std::size_t at = open + 1; at < close; ++at) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(header.data() + at, header.data() + close, value);
    if (error != std::errc()) continue;
    shape.push_back(value);
    at = static_cast<std::size_t>(end - header.data());
  }
  return shape;
}

struct Header {
  VolumeFacts facts;
  std::int64_t data_at = 0;
  bool is_swapped = false;
};

Result<std::string> header_text(std::ifstream& file, const std::string& path) {
  std::array<char, 8> start{};
  std::array<unsigned char, 4> length{};
  file.read(start.data(), start.size());
  if (!file || std::string_view(start.data(), magic.size()) != magic)
    return bad(path, "is not a .npy file: save it with numpy.save(), or name it as what it is");
  const int length_bytes = start[6] == 1 ? 2 : 4;
  file.read(reinterpret_cast<char*>(length.data()), length_bytes);
  const std::size_t size = length[0] + (length[1] << 8U) + (length[2] << 16U);
  std::string text(size, ' ');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return bad(path, "ends within its header: it was not copied or saved as a whole; do that again");
  return text;
}

Result<Header> read_header(std::ifstream& file, const std::string& path) {
  const Result<std::string> text = header_text(file, path);
  if (!text) return text.error();
  if (text->find("'fortran_order': False") == std::string::npos)
    return bad(path, "Fortran order is not read: save with order='C'");
  const Result<Stored> stored = stored_in(*text, path);
  if (!stored) return stored.error();
  std::vector<std::int64_t> shape = shape_of(*text);
  if (shape.size() == 3) shape.insert(shape.begin(), 1);
  if (shape.size() != 4) return bad(path, std::to_string(shape.size()) + " axes: reshape it to [Z,Y,X] or [C,Z,Y,X]");
  Header header{{shape[0], {shape[1], shape[2], shape[3]}, stored->type}, file.tellg(), stored->is_swapped};
  if (Result<void> sound = check_shape({1, shape[0], header.facts.n}); !sound) return sound.error().within(path);
  const std::int64_t need = mul(mul(shape[0], voxels(header.facts.n)), voxel_bytes(stored->type));
  std::error_code failed;
  const auto have = static_cast<std::int64_t>(std::filesystem::file_size(path, failed)) - header.data_at;
  if (have < need)
    return bad(path, "cut short: " + std::to_string(have) + " of " + std::to_string(need) +
                         " bytes of voxels; copy or save it again");
  return header;
}

Result<void> read_rows(std::ifstream& file, const std::string& path, const Header& header, std::int64_t z,
                       const Box& box, std::span<std::byte> out) {
  const Vec3 n = header.facts.n;
  const std::int64_t width = voxel_bytes(header.facts.type);
  const std::int64_t row = box.extent().x * width;
  std::byte* to = out.data();
  for (std::int64_t c = 0; c < header.facts.channels; ++c) {
    for (std::int64_t y = box.start.y; y < box.stop.y; ++y, to += row) {
      file.seekg(header.data_at + (((c * n.z + z) * n.y + y) * n.x + box.start.x) * width);
      file.read(reinterpret_cast<char*>(to), row);
    }
  }
  if (!file) return bad(path, "cannot read plane " + std::to_string(z));
  if (header.is_swapped) swap_bytes(out.first(static_cast<std::size_t>(to - out.data())), width);
  return {};
}

std::string make_header(const VolumeFacts& facts) {
  std::string text = "{'descr': '" + descriptor(facts.type) + "', 'fortran_order': False, 'shape': (";
  if (facts.channels > 1) text += std::to_string(facts.channels) + ", ";
  text += std::to_string(facts.n.z) + ", " + std::to_string(facts.n.y) + ", " + std::to_string(facts.n.x) + "), }";
  const std::size_t before = magic.size() + 4;
  while ((before + text.size() + 1) % header_alignment != 0) text += ' ';
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xffU), static_cast<char>(text.size() >> 8U)};
  return header + text;
}

// Writes rows and columns of `box` in plane z. Writes rows that are consecutive in the file in one piece.
Result<void> write_rows(std::fstream& file, const std::string& path, const VolumeFacts& facts, std::int64_t data_at,
                        std::int64_t z, const Box& box, std::span<const std::byte> plane) {
  errno = 0;
  const Vec3 n = facts.n;
  const std::int64_t width = voxel_bytes(facts.type);
  const bool whole_rows = box.extent().x == n.x;
  const std::int64_t rows = whole_rows ? box.extent().y : 1;
  const std::int64_t bytes = rows * box.extent().x * width;
  const std::byte* from = plane.data();
  for (std::int64_t c = 0; c < facts.channels; ++c) {
    for (std::int64_t y = box.start.y; y < box.stop.y; y += rows, from += bytes) {
      file.seekp(data_at + (((c * n.z + z) * n.y + y) * n.x + box.start.x) * width);
      file.write(reinterpret_cast<const char*>(from), bytes);
    }
  }
  return file ? Result<void>() : write_failure(path, "write plane " + std::to_string(z));
}

bool begins_with(std::fstream& file, const std::string& header) {
  std::string found(header.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  return file && found == header;
}

// Opens the partial output. Writes its header, or with `goes_on` compares the header that is there.
Result<void> open_partial(std::fstream& file, const std::string& partial, const std::string& header, bool goes_on) {
  const auto read_and_write = std::ios::binary | std::ios::in | std::ios::out;
  errno = 0;
  file.open(partial, goes_on ? read_and_write : read_and_write | std::ios::trunc);
  if (!file) return write_failure(partial, "be opened for writing");
  if (goes_on) {
    if (begins_with(file, header)) return {};
    return Error{ErrorCode::corrupt_file,
                 partial + ": is not the partial output that was begun: start over with --overwrite"};
  }
  if (file << header << std::flush) return {};
  const Error failed = write_failure(partial, "be written");
  std::remove(partial.c_str());
  return failed;
}

}  // namespace

Result<VolumeSource> open_npy(const std::string& path) {
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (!*file) return Error{ErrorCode::not_found, path + ": cannot be opened"};
  const Result<Header> header = read_header(*file, path);
  if (!header) return header.error();
  return VolumeSource{header->facts,
                      [file, path, header = *header](std::int64_t z, const Box& box, std::span<std::byte> out) {
                        return read_rows(*file, path, header, z, box, out);
                      }};
}

Result<VolumeTarget> open_npy_target(const FileName& name, const VolumeFacts& facts, bool goes_on) {
  const std::string partial = partial_name(name).path;
  const std::string header = make_header(facts);
  const auto file = std::make_shared<std::fstream>();
  if (Result<void> opened = open_partial(*file, partial, header, goes_on); !opened) return opened.error();
  VolumeTarget target;
  target.write_plane = [file, partial, facts, at = static_cast<std::int64_t>(header.size())](
                           std::int64_t z, const Box& box, std::span<const std::byte> plane) {
    return write_rows(*file, partial, facts, at, z, box, plane);
  };
  target.flush = [file, partial]() -> Result<void> {
    errno = 0;
    if (!file->flush()) return write_failure(partial, "be written");
    return sync_file(partial);
  };
  target.finish = [file, partial, path = name.path]() -> Result<void> {
    errno = 0;
    file->close();
    if (!*file) return write_failure(partial, "be written");
    std::error_code failed;
    std::filesystem::rename(partial, path, failed);
    if (failed) return Error{ErrorCode::device_failure, path + ": cannot be finished: " + failed.message()};
    return {};
  };
  target.discard = [file, partial] {
    file->close();
    std::remove(partial.c_str());
  };
  return target;
}

}  // namespace znni::client
