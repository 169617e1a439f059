#include "client/files/tiff_volume.hpp"

#include <tiffio.h>

#include "tests/client/numbers.hpp"
#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

// Writes a test volume in compressed strips of `rows` rows. Returns the position of the first strip in the file.
std::uint64_t write_strips(const std::string& path, const VolumeFacts& facts, int packing, int rows,
                           const char* mode = "w") {
  TIFF* const file = TIFFOpen(path.c_str(), mode);
  std::uint64_t begin = 0;
  for (std::int64_t z = 0; z < facts.n.z; ++z) {
    std::vector<std::byte> plane = test_plane(facts, z);
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(facts.n.x));
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(facts.n.y));
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_COMPRESSION, packing);
    TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, rows);
    for (std::int64_t y = 0; y < facts.n.y; ++y) {
      TIFFWriteScanline(file, plane.data() + y * facts.n.x, static_cast<std::uint32_t>(y), 0);
    }
    TIFFFlushData(file);
    if (z == 0) begin = TIFFGetStrileOffset(file, 0);
    TIFFWriteDirectory(file);
  }
  TIFFClose(file);
  return begin;
}

TEST(TiffVolume, RoundTrip) { expect_round_trip(".tif"); }

TEST(TiffVolume, UnfinishedIsNotThere) { expect_unfinished_is_not_there(".tif"); }

TEST(TiffVolume, GoesOnWhereItStopped) { expect_goes_on_where_it_stopped(".tif"); }

TEST(TiffVolume, FileCutShortIsRefusedInWords) { expect_cut_short_is_refused(".tif"); }

// Cuts the file at every position.
TEST(TiffVolume, AFileThatLostPagesSaysBehindWhich) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  for (const char* mode : {"wl", "wb", "w8l", "w8b"}) {
    write_strips(name.path, {1, {3, 5, 9}, VoxelType::u8}, COMPRESSION_NONE, 5, mode);
    for (auto size = std::filesystem::file_size(name.path) - 1; size > 0; --size) {
      std::filesystem::resize_file(name.path, size);
      const Result<VolumeSource> source = open_source(name);
      ASSERT_FALSE(source) << mode << size;
      EXPECT_EQ(source.error().code, ErrorCode::corrupt_file);
    }
  }
  write_volume(name, {1, {6, 40, 40}, VoxelType::f32});
  std::filesystem::resize_file(name.path, std::filesystem::file_size(name.path) / 2);
  EXPECT_EQ(open_source(name).error().message, name.path + ": is cut short or damaged after page 2");
}

// The run was killed while it wrote a page after the recorded ones.
TEST(TiffVolume, APartialFileThatEndsWithinAPageGoesOn) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const std::string partial = partial_name(name).path;
  const VolumeFacts facts{1, {7, 40, 40}, VoxelType::f32};
  write_unfinished(name, facts, 3);
  const auto recorded = std::filesystem::file_size(partial);
  {
    Result<VolumeTarget> killed = open_target(name, facts, 3);
    ASSERT_TRUE(killed);
    write_planes(*killed, facts, 3, 5);
  }
  std::filesystem::resize_file(partial, recorded + 100);
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second) << second.error().message;
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

// A killed run has written more pages than it recorded; they must not stay before the new ones.
TEST(TiffVolume, SurplusPagesAreWrittenAgain) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const VolumeFacts facts{1, {7, 4, 6}, VoxelType::u16};
  {
    Result<VolumeTarget> killed = open_target(name, facts, 0);
    ASSERT_TRUE(killed);
    write_planes(*killed, facts, 0, 5);
  }
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second) << second.error().message;
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

TEST(TiffVolume, WhatTiffCannotHoldIsRefused) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  EXPECT_EQ(open_target(name, {1, {2, 2, 2}, VoxelType::f16}, 0).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open_target(name, {2, {2, 2, 2}, VoxelType::f32}, 0).error().code, ErrorCode::unsupported);
}

// A part of a wide volume reads only its own rows.
TEST(TiffVolume, StripsAboveAWindowAreNotRead) {
  const Scratch scratch;
  const VolumeFacts facts{1, {2, 23, 50}, VoxelType::u8};
  for (const int packing : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
    for (const int rows : {1, 4, 23}) {
      const FileName name{scratch.file(std::to_string(packing) + "." + std::to_string(rows) + ".tif"), ""};
      const std::uint64_t strip = write_strips(name.path, facts, packing, rows);
      expect_volume(name, facts);
      if (rows == 23) continue;
      std::fstream(name.path, std::ios::in | std::ios::out | std::ios::binary)
          .seekp(static_cast<std::streamoff>(strip))
          .write("\xff\xff\xff\xff", 4);
      const Box window{{0, 5, 7}, {2, 20, 50}};
      std::vector<std::byte> seen(15 * 43);
      const Result<VolumeSource> source = open_source(name);
      ASSERT_TRUE(source);
      const Result<void> read = source->read_plane(0, window, seen);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(seen, test_window(facts, 0, window));
    }
  }
}

// Describes a page of numbers.
struct PageForm {
  int bits = 8;
  int format = SAMPLEFORMAT_UINT;
  int samples = 1;
};

// Writes rows of bytes in the byte order of this machine; the library reverses them if `mode` asks for that.
void write_pages(const std::string& path, const PageForm& form, Vec3 n, std::vector<std::byte> voxels,
                 const char* mode) {
  TIFF* const file = TIFFOpen(path.c_str(), mode);
  const auto row = n.x * form.samples * form.bits / 8;
  for (std::int64_t z = 0; z < n.z; ++z) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(n.x));
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(n.y));
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, form.bits);
    TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, form.format);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, form.samples);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    for (std::int64_t y = 0; y < n.y; ++y) {
      TIFFWriteScanline(file, voxels.data() + (z * n.y + y) * row, static_cast<std::uint32_t>(y), 0);
    }
    TIFFWriteDirectory(file);
  }
  TIFFClose(file);
}

TEST(TiffVolume, NumbersOfAllTypesInEitherByteOrder) {
  const Scratch scratch;
  std::mt19937 random(13);
  const FileName name{scratch.file("volume.tif"), ""};
  static constexpr std::array formats = {SAMPLEFORMAT_UINT, SAMPLEFORMAT_INT, SAMPLEFORMAT_IEEEFP};
  for (int i = 0; i < 4; ++i) {
    for (const VoxelType type : all_types) {
      const NumberVolume volume = random_numbers(type, random);
      const PageForm form{static_cast<int>(8 * voxel_bytes(type)), formats[static_cast<std::size_t>(kind_of(type))]};
      for (const char* mode : {"wl", "wb", "w8l", "w8b"}) {
        write_pages(name.path, form, volume.facts.n, volume.bytes, mode);
        expect_numbers(name, volume);
      }
    }
  }
}

TEST(TiffVolume, PagesOfOtherFormsAreRefusedWithTheirs) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const std::string expected = " found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 or 64";
  for (const auto& [form, words] :
       {std::pair(PageForm{64, SAMPLEFORMAT_COMPLEXIEEEFP}, "SampleFormat 6, complex numbers, of 64 bits" + expected),
        std::pair(PageForm{32, SAMPLEFORMAT_COMPLEXINT}, "SampleFormat 5, complex numbers, of 32 bits" + expected),
        std::pair(PageForm{24, SAMPLEFORMAT_IEEEFP}, "SampleFormat 3 of 24 bits" + expected),
        std::pair(PageForm{4, SAMPLEFORMAT_UINT}, "SampleFormat 1 of 4 bits" + expected),
        std::pair(PageForm{8, SAMPLEFORMAT_VOID}, "SampleFormat 4 of 8 bits" + expected),
        std::pair(PageForm{8, SAMPLEFORMAT_UINT, 3},
                  std::string("pages of 3 samples found, expected grey ones of one sample"))}) {
    write_pages(name.path, form, {2, 3, 4}, std::vector<std::byte>(2000), "w");
    const Result<VolumeSource> source = open_source(name);
    ASSERT_FALSE(source) << words;
    EXPECT_EQ(source.error().message, name.path + ": " + words);
  }
}

TEST(TiffVolume, GarbageIsRefused) { expect_garbage_is_refused(".tif"); }

}  // namespace
}  // namespace znni::client
