#include "client/files/tiff_volume.hpp"

#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

constexpr std::int64_t classic_limit = std::int64_t{3} << 30;  // below 4 GiB with room for the directories

struct Close {
  void operator()(TIFF* file) const { TIFFClose(file); }
};
using File = std::unique_ptr<TIFF, Close>;

// Silences the library. It prints warnings about private tags; errors are returned as codes as well.
void mute_library() {
  TIFFSetWarningHandler(nullptr);
  TIFFSetErrorHandler(nullptr);
}

Error bad(const std::string& path, const std::string& why) { return {ErrorCode::corrupt_file, path + ": " + why}; }

struct Page {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint16_t bits = 0;
  std::uint16_t format = SAMPLEFORMAT_UINT;
  std::uint16_t samples = 1;
  bool tiled = false;
  bool operator==(const Page&) const = default;
};

Page page_of(TIFF* file) {
  Page page;
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &page.height);
  TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &page.format);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  page.tiled = TIFFIsTiled(file) != 0;
  return page;
}

std::optional<VoxelType> type_of(const Page& page) {
  if (page.samples != 1 || page.bits % 8 != 0) return std::nullopt;
  switch (page.format) {
    case SAMPLEFORMAT_UINT: return voxel_type(VoxelKind::unsigned_whole, page.bits / 8);
    case SAMPLEFORMAT_INT: return voxel_type(VoxelKind::signed_whole, page.bits / 8);
    case SAMPLEFORMAT_IEEEFP: return voxel_type(VoxelKind::real, page.bits / 8);
    default: return std::nullopt;
  }
}

std::uint16_t format_of(VoxelType type) {
  switch (kind_of(type)) {
    case VoxelKind::unsigned_whole: return SAMPLEFORMAT_UINT;
    case VoxelKind::signed_whole: return SAMPLEFORMAT_INT;
    case VoxelKind::real: return SAMPLEFORMAT_IEEEFP;
  }
  return SAMPLEFORMAT_VOID;
}

// Returns why pages of that form are not read.
Error wrong_page(const std::string& path, const Page& page) {
  if (page.samples != 1) {
    return bad(path, "pages of " + std::to_string(page.samples) + " samples found, expected grey ones of one sample");
  }
  const bool is_complex = page.format == SAMPLEFORMAT_COMPLEXINT || page.format == SAMPLEFORMAT_COMPLEXIEEEFP;
  return not_read(path, "SampleFormat " + std::to_string(page.format) + (is_complex ? ", complex numbers," : "") +
                            " of " + std::to_string(page.bits) + " bits");
}

// Position and size of the field of a directory that holds the offset of the next directory.
struct NextField {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

// Returns that field of the current directory, which the library has read. TIFF 6.0, section 2: [entries] [entry] ...
// [next]; in BigTIFF these are wider.
std::optional<NextField> next_field(TIFF* file) {
  const bool big = TIFFIsBigTIFF(file) != 0;
  const std::uint64_t begin = TIFFCurrentDirOffset(file);
  std::array<unsigned char, 8> raw{};
  const tmsize_t width = big ? 8 : 2;
  const thandle_t data = TIFFClientdata(file);
  TIFFGetSeekProc(file)(data, begin, SEEK_SET);
  if (TIFFGetReadProc(file)(data, raw.data(), width) != width) return std::nullopt;
  if (TIFFIsBigEndian(file) == 0) std::reverse(raw.begin(), raw.begin() + width);
  std::uint64_t entries = 0;
  for (tmsize_t i = 0; i < width; ++i) entries = (entries << 8U) + raw[static_cast<std::size_t>(i)];
  return NextField{begin + static_cast<std::uint64_t>(width) + entries * (big ? 20 : 12), big ? 8U : 4U};
}

enum class Next { page, end, damage };

// Goes on to the next page. The library takes a file for complete that ends before the offset of the next page; this
// function reports damage.
Next next_page(TIFF* file) {
  if (TIFFLastDirectory(file) == 0) return TIFFReadDirectory(file) != 0 ? Next::page : Next::damage;
  const std::optional<NextField> field = next_field(file);
  const bool whole = field && field->at + field->bytes <= TIFFGetSizeProc(file)(TIFFClientdata(file));
  return whole ? Next::end : Next::damage;
}

// Says if damage after the last readable page is allowed (`any`): a killed run may have begun to write a page there.
enum class Rest { sound, any };

// Returns the facts of a stack. Fails if its pages differ in size or type.
Result<VolumeFacts> facts_of(TIFF* file, const std::string& path, Rest rest) {
  const Page first = page_of(file);
  const std::optional<VoxelType> type = type_of(first);
  if (!type) return wrong_page(path, first);
  if (first.tiled) return bad(path, "tiled pages are not read: save in strips");
  std::int64_t pages = 1;
  Next next = next_page(file);
  for (; next == Next::page; next = next_page(file), ++pages) {
    if (page_of(file) != first)
      return bad(path, "page " + std::to_string(pages) + " differs from page 0 in size or type");
  }
  if (next == Next::damage && rest == Rest::sound) {
    return bad(path, "is cut short or damaged after page " + std::to_string(pages - 1));
  }
  return VolumeFacts{1, {pages, first.height, first.width}, *type};
}

// Returns the last row of the current page at which reading up to row `y` may begin. In a compressed page that is the
// first row of a strip, because each strip is compressed by itself.
std::int64_t first_row(TIFF* file, std::int64_t y) {
  std::uint16_t packing = COMPRESSION_NONE;
  std::uint32_t strip = 1;
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &packing);
  TIFFGetFieldDefaulted(file, TIFFTAG_ROWSPERSTRIP, &strip);
  return packing == COMPRESSION_NONE || strip == 0 ? y : y - y % strip;
}

Result<void> read_page(TIFF* file, const std::string& path, const VolumeFacts& facts, std::int64_t z, const Box& box,
                       std::span<std::byte> out) {
  const std::int64_t width = voxel_bytes(facts.type);
  std::vector<std::byte> row(static_cast<std::size_t>(TIFFScanlineSize64(file)));
  if (TIFFSetDirectory(file, static_cast<tdir_t>(z)) == 0) return bad(path, "no page " + std::to_string(z));
  std::byte* to = out.data();
  for (std::int64_t y = first_row(file, box.start.y); y < box.stop.y; ++y) {
    if (TIFFReadScanline(file, row.data(), static_cast<std::uint32_t>(y), 0) < 0) {
      return bad(path, "page " + std::to_string(z) + " is damaged at row " + std::to_string(y));
    }
    if (y < box.start.y) continue;
    std::memcpy(to, row.data() + box.start.x * width, static_cast<std::size_t>(box.extent().x * width));
    to += box.extent().x * width;
  }
  return {};
}

void describe_page(TIFF* file, const VolumeFacts& facts) {
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(facts.n.x));
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(facts.n.y));
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * voxel_bytes(facts.type)));
  TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, format_of(facts.type));
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(facts.n.y));
}

Result<void> write_page(TIFF* file, const std::string& path, const VolumeFacts& facts,
                        std::span<const std::byte> plane) {
  errno = 0;
  describe_page(file, facts);
  const std::int64_t row = facts.n.x * voxel_bytes(facts.type);
  bool written = true;
  std::vector<std::byte> line(static_cast<std::size_t>(row));  // the library takes a mutable row
  for (std::int64_t y = 0; y < facts.n.y && written; ++y) {
    std::memcpy(line.data(), plane.data() + y * row, line.size());
    written = TIFFWriteScanline(file, line.data(), static_cast<std::uint32_t>(y), 0) >= 0;
  }
  if (written && TIFFWriteDirectory(file) != 0) return {};
  return write_failure(path, "be written");
}

// Makes `page` the last page of the file.
bool make_last(TIFF* file, std::int64_t page) {
  if (TIFFSetDirectory(file, static_cast<tdir_t>(page)) == 0) return false;
  const std::optional<NextField> field = next_field(file);
  if (!field) return false;
  std::array<std::byte, 8> none{};
  const auto bytes = static_cast<tmsize_t>(field->bytes);
  TIFFGetSeekProc(file)(TIFFClientdata(file), field->at, SEEK_SET);
  return TIFFGetWriteProc(file)(TIFFClientdata(file), none.data(), bytes) == bytes;
}

// Cuts the file to `planes` pages. A killed run may have written more pages than it recorded, the last one in part.
Result<void> keep_pages(const std::string& path, const VolumeFacts& facts, std::int64_t planes) {
  if (planes == 0) return {};
  const File file(TIFFOpen(path.c_str(), "r+"));
  const Result<VolumeFacts> found = file ? facts_of(file.get(), path, Rest::any) : bad(path, "cannot be reopened");
  if (!found) return found.error();
  if (found->n.z < planes || found->n.y != facts.n.y || found->n.x != facts.n.x || found->type != facts.type) {
    return bad(path, "is not the partial output that was begun: start over with --overwrite");
  }
  return make_last(file.get(), planes - 1) ? Result<void>() : bad(path, "cannot be shortened");
}

// Returns why a partial output cannot be opened. Removes the empty file that the library makes before it fails.
Error unopened(const std::string& partial) {
  Error failed = write_failure(partial, "be written");
  std::error_code unknown;
  if (std::filesystem::file_size(partial, unknown) == 0) std::remove(partial.c_str());
  return failed;
}

std::string mode_for(const VolumeFacts& facts, std::int64_t planes_done) {
  const bool big = mul(voxels(facts.n), voxel_bytes(facts.type)) > classic_limit;
  return std::string(planes_done > 0 ? "a" : "w") + (big ? "8" : "");
}

}  // namespace

Result<VolumeSource> open_tiff(const std::string& path) {
  mute_library();
  const std::shared_ptr<TIFF> file(TIFFOpen(path.c_str(), "r"), [](TIFF* open) {
    if (open != nullptr) TIFFClose(open);
  });
  if (!file) return bad(path, "not a TIFF file, or cut short");
  const Result<VolumeFacts> facts = facts_of(file.get(), path, Rest::sound);
  if (!facts) return facts.error();
  return VolumeSource{*facts, [file, path, facts = *facts](std::int64_t z, const Box& box, std::span<std::byte> out) {
                        return read_page(file.get(), path, facts, z, box, out);
                      }};
}

Result<void> check_tiff_target(const FileName& name, const VolumeFacts& facts) {
  if (facts.type == VoxelType::f16)
    return Error{ErrorCode::unsupported, name.path + ": TIFF has no float16: use --dtype float32 or uint8"};
  if (facts.channels > 1) {
    return Error{ErrorCode::unsupported, name.path + ": a TIFF stack holds one image, the model gives " +
                                             std::to_string(facts.channels) + ": write .h5 or .npy"};
  }
  return {};
}

Result<VolumeTarget> open_tiff_target(const FileName& name, const VolumeFacts& facts, std::int64_t planes_done) {
  mute_library();
  if (Result<void> kept = keep_pages(partial_name(name).path, facts, planes_done); !kept) return kept.error();
  const std::string partial = partial_name(name).path;
  errno = 0;
  // The file is kept open between planes, and closed to flush it: libtiff writes its directory then.
  const auto file = std::make_shared<File>(TIFFOpen(partial.c_str(), mode_for(facts, planes_done).c_str()));
  if (!*file) return unopened(partial);
  VolumeTarget target;
  target.write_plane = [file, partial, facts](std::int64_t, const Box&, std::span<const std::byte> plane) {
    return write_page(file->get(), partial, facts, plane);
  };
  target.flush = [file, partial]() -> Result<void> {
    errno = 0;
    if (TIFFFlush(file->get()) != 0) return sync_file(partial);
    return write_failure(partial, "be written");
  };
  target.finish = [file, partial, path = name.path]() -> Result<void> {
    file->reset();
    std::error_code failed;
    std::filesystem::rename(partial, path, failed);
    if (failed) return Error{ErrorCode::device_failure, path + ": cannot be finished: " + failed.message()};
    return {};
  };
  target.discard = [file, partial] {
    file->reset();
    std::remove(partial.c_str());
  };
  return target;
}

}  // namespace znni::client
