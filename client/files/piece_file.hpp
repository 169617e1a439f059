// A file of compressed pieces of a volume, which only grows: a kill or a power cut leaves all that was synced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/files/bbox.hpp"
#include "primitives/core/file_handle.hpp"

namespace znni::client {

// Bytes that hold the voxels of `box` in one channel.
struct Piece {
  std::int64_t channel = 0;
  Box box;
  std::int64_t bytes = 0;
  std::int64_t at = 0;  // where the bytes begin in the file
};

class PieceFile {
 public:
  // Opens `path`; begins it with `title`, one line. With `goes_on` it keeps the pieces up to the last sync() and cuts
  // off what is behind them; fails with corrupt_file if the file has another title.
  [[nodiscard]] static Result<PieceFile> open(const std::string& path, const std::string& title, bool goes_on);

  // Appends a piece.
  [[nodiscard]] Result<void> append(std::int64_t channel, const Box& box, std::span<const std::byte> bytes);
  // Brings all pieces to disk.
  [[nodiscard]] Result<void> sync();
  // Returns the bytes of a piece.
  [[nodiscard]] Result<std::vector<std::byte>> read(const Piece& piece) const;
  // Returns all pieces, in the order of append().
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  PieceFile(std::string path, FileHandle file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] Result<void> begin(const std::string& title);
  [[nodiscard]] Result<void> go_on(const std::string& title);
  [[nodiscard]] Result<void> write_head(const Piece& piece);
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);

  std::string path_;
  FileHandle file_;
  std::vector<Piece> pieces_;
  std::int64_t end_ = 0;  // of what has been written
};

}  // namespace znni::client
