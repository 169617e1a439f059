#include "client/files/piece_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "client/files/files.hpp"
#include "primitives/core/write_atomically.hpp"

namespace znni::client {
namespace {

// What stands before the bytes of a piece. A head without bytes is the mark of a sync.
constexpr std::int64_t sign = 0x6563656970696e7a;
using Head = std::array<std::int64_t, 9>;
constexpr std::int64_t head_bytes = sizeof(Head);

Head head_of(const Piece& piece) {
  const auto& [start, stop] = piece.box;
  return {sign, piece.channel, start.z, start.y, start.x, stop.z, stop.y, stop.x, piece.bytes};
}

Piece piece_of(const Head& head, std::int64_t at) {
  return {head[1], {{head[2], head[3], head[4]}, {head[5], head[6], head[7]}}, head[8], at};
}

// Reads up to `size` bytes. Returns how many the file has there, -1 if it cannot be read.
std::int64_t read_at(int file, std::int64_t at, void* out, std::int64_t size) {
  std::int64_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(file, static_cast<std::byte*>(out) + done, static_cast<std::size_t>(size - done), at + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += got;
  }
  return done;
}

Error not_begun(const std::string& path) {
  return {ErrorCode::corrupt_file, path + ": is not the partial output that was begun: start over with --overwrite"};
}

}  // namespace

Result<PieceFile> PieceFile::open(const std::string& path, const std::string& title, bool goes_on) {
  constexpr mode_t readable_by_all = 0644;
  errno = 0;
  FileHandle file(::open(path.c_str(), O_RDWR | O_CLOEXEC | (goes_on ? 0 : O_CREAT | O_TRUNC), readable_by_all));
  if (!file.is_open()) return write_failure(path, "be opened for writing");
  PieceFile opened(path, std::move(file));
  const Result<void> sound = goes_on ? opened.go_on(title + "\n") : opened.begin(title + "\n");
  if (sound) return opened;
  if (!goes_on) std::remove(path.c_str());
  return sound.error();
}

Result<void> PieceFile::begin(const std::string& title) { return write(std::as_bytes(std::span(title))); }

Result<void> PieceFile::go_on(const std::string& title) {
  struct stat facts {};
  std::string found(title.size(), '\0');
  const auto size = static_cast<std::int64_t>(title.size());
  if (::fstat(file_.get(), &facts) != 0 || read_at(file_.get(), 0, found.data(), size) != size || found != title) {
    return not_begun(path_);
  }
  end_ = size;
  std::size_t synced = 0;
  Head head{};
  for (std::int64_t at = size; read_at(file_.get(), at, head.data(), head_bytes) == head_bytes;) {
    const Piece piece = piece_of(head, at + head_bytes);
    if (head.front() != sign || piece.bytes < 0 || piece.bytes > facts.st_size - piece.at) break;
    at = piece.at + piece.bytes;
    if (piece.bytes > 0) {
      pieces_.push_back(piece);
    } else {
      synced = pieces_.size();
      end_ = at;
    }
  }
  pieces_.resize(synced);
  errno = 0;
  return ::ftruncate(file_.get(), end_) == 0 ? Result<void>() : write_failure(path_, "be cut to what was kept");
}

Result<void> PieceFile::append(std::int64_t channel, const Box& box, std::span<const std::byte> bytes) {
  const Piece piece{channel, box, static_cast<std::int64_t>(bytes.size()), end_ + head_bytes};
  const std::int64_t before = end_;
  Result<void> written = write_head(piece);
  if (written) written = write(bytes);
  if (written) {
    pieces_.push_back(piece);
  } else {
    end_ = before;
  }
  return written;
}

// The mark is written after the pieces are on disk, so that it is never there without them.
Result<void> PieceFile::sync() {
  if (Result<void> synced = sync_file(path_); !synced) return synced;
  if (Result<void> written = write_head({}); !written) return written;
  return sync_file(path_);
}

Result<std::vector<std::byte>> PieceFile::read(const Piece& piece) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(piece.bytes));
  if (read_at(file_.get(), piece.at, bytes.data(), piece.bytes) == piece.bytes) return bytes;
  return Error{ErrorCode::corrupt_file,
               path_ + ": cannot read byte " + std::to_string(piece.at) + ": start over with --overwrite"};
}

Result<void> PieceFile::write_head(const Piece& piece) {
  const Head head = head_of(piece);
  return write(std::as_bytes(std::span(head)));
}

// Writes behind what has been written as a whole, over what an attempt that failed has left.
Result<void> PieceFile::write(std::span<const std::byte> bytes) {
  std::int64_t done = 0;
  const auto size = static_cast<std::int64_t>(bytes.size());
  while (done < size) {
    errno = 0;
    const ssize_t wrote =
        ::pwrite(file_.get(), bytes.data() + done, static_cast<std::size_t>(size - done), end_ + done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return write_failure(path_, "be written");
    done += wrote;
  }
  end_ += size;
  return {};
}

}  // namespace znni::client
