#include "client/files/piece_file.hpp"

#include <filesystem>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

std::vector<std::byte> bytes_of(int value, std::size_t size) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

Box box_of(int value) { return {{value, 0, 2}, {value + 3, 4, 5}}; }

void append(PieceFile& file, int value, std::size_t size) {
  ASSERT_TRUE(file.append(value, box_of(value), bytes_of(value, size)));
}

void expect_pieces(const PieceFile& file, const std::vector<std::size_t>& sizes) {
  ASSERT_EQ(file.pieces().size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int value = static_cast<int>(i) + 1;
    EXPECT_EQ(file.pieces()[i].channel, value);
    EXPECT_EQ(file.pieces()[i].box, box_of(value));
    const auto bytes = file.read(file.pieces()[i]);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(*bytes, bytes_of(value, sizes[i]));
  }
}

TEST(PieceFile, PiecesAreReadAsTheyWereWritten) {
  const Scratch scratch;
  Result<PieceFile> file = PieceFile::open(scratch.file("pieces"), "title", false);
  ASSERT_TRUE(file) << file.error().message;
  append(*file, 1, 7);
  append(*file, 2, 1);
  expect_pieces(*file, {7, 1});
}

// As a kill or a power cut may leave it: cut off anywhere behind the last sync.
TEST(PieceFile, WhatWasSyncedIsThereHoweverTheRestIsCut) {
  const Scratch scratch;
  const std::string path = scratch.file("pieces");
  std::uintmax_t synced = 0;
  {
    Result<PieceFile> file = PieceFile::open(path, "title", false);
    ASSERT_TRUE(file);
    append(*file, 1, 7);
    append(*file, 2, 30);
    ASSERT_TRUE(file->sync());
    synced = std::filesystem::file_size(path);
    append(*file, 9, 20);
    append(*file, 8, 5);
  }
  const std::uintmax_t whole = std::filesystem::file_size(path);
  ASSERT_GT(whole, synced + 25);
  for (std::uintmax_t size = whole; size >= synced; --size) {
    std::filesystem::copy_file(path, scratch.file("cut"));
    std::filesystem::resize_file(scratch.file("cut"), size);
    Result<PieceFile> file = PieceFile::open(scratch.file("cut"), "title", true);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(std::filesystem::file_size(scratch.file("cut")), synced);
    append(*file, 3, 4);
    expect_pieces(*file, {7, 30, 4});
    std::filesystem::remove(scratch.file("cut"));
  }
}

// A power cut may leave zeros where bytes were not written yet.
TEST(PieceFile, ZerosBehindTheLastSyncAreNoPieces) {
  const Scratch scratch;
  const std::string path = scratch.file("pieces");
  {
    Result<PieceFile> file = PieceFile::open(path, "title", false);
    ASSERT_TRUE(file);
    append(*file, 1, 7);
    ASSERT_TRUE(file->sync());
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + 1000);
  const Result<PieceFile> file = PieceFile::open(path, "title", true);
  ASSERT_TRUE(file) << file.error().message;
  expect_pieces(*file, {7});
}

TEST(PieceFile, AnotherFileIsNotGoneOnWith) {
  const Scratch scratch;
  const std::string path = scratch.file("pieces");
  ASSERT_TRUE(PieceFile::open(path, "title", false));
  ASSERT_TRUE(PieceFile::open(path, "title", true));
  for (const char* title : {"titl", "titles", "other"}) {
    const Result<PieceFile> file = PieceFile::open(path, title, true);
    ASSERT_FALSE(file) << title;
    EXPECT_EQ(file.error().code, ErrorCode::corrupt_file);
    EXPECT_EQ(file.error().message, path + ": is not the partial output that was begun: start over with --overwrite");
  }
  const Result<PieceFile> missing = PieceFile::open(scratch.file("none"), "title", true);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos) << missing.error().message;
}

TEST(PieceFile, BeginningAnewForgetsTheOld) {
  const Scratch scratch;
  const std::string path = scratch.file("pieces");
  {
    Result<PieceFile> file = PieceFile::open(path, "title", false);
    ASSERT_TRUE(file);
    append(*file, 1, 7);
    ASSERT_TRUE(file->sync());
  }
  ASSERT_TRUE(PieceFile::open(path, "title", false));
  const Result<PieceFile> file = PieceFile::open(path, "title", true);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->pieces().empty());
}

}  // namespace
}  // namespace znni::client
