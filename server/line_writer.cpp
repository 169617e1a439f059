#include "server/line_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {
namespace {

// Opens the file behind a descriptor once more: the flags of what it returns are shared with no other process.
int open_again(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

}  // namespace

LineWriter::LineWriter(int descriptor, std::chrono::milliseconds patience)
    : descriptor_(descriptor), wake_(eventfd(0, EFD_CLOEXEC)), patience_(patience) {
  ensure(wake_ >= 0, "no descriptor is left for the log");
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) return;
  is_socket_ = S_ISSOCK(facts.st_mode);
  if (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode)) own_ = open_again(descriptor);
}

LineWriter::~LineWriter() {
  close(wake_);
  if (own_ >= 0) close(own_);
}

bool LineWriter::write(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  for (std::string_view left = text; !left.empty();) {
    if (!wait_for_room()) return false;
    const long written = write_some(left);
    if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
    left.remove_prefix(static_cast<std::size_t>(std::max(written, 0L)));
  }
  return true;
}

void LineWriter::hurry() {
  {
    const std::scoped_lock lock(mutex_);
    if (!end_) end_ = Clock::now() + patience_;
  }
  eventfd_write(wake_, 1);
}

// Returns how long writes may still wait; -1, without limit, until hurry().
int LineWriter::milliseconds_left() const {
  const std::scoped_lock lock(mutex_);
  if (!end_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

bool LineWriter::wait_for_room() {
  while (descriptor_ >= 0) {
    const int left = milliseconds_left();
    std::array<pollfd, 2> events = {pollfd{own_ >= 0 ? own_ : descriptor_, POLLOUT, 0}, pollfd{wake_, POLLIN, 0}};
    const int ready = poll(events.data(), left < 0 ? 2 : 1, left);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && events[0].revents != 0) return true;  // an error, too: write() says which
    if (ready == 0 && left == 0) return false;
  }
  return false;
}

// Writes no more than certainly has room, a page, if the descriptor itself may block.
long LineWriter::write_some(std::string_view text) const {
  if (is_socket_) return send(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (own_ >= 0) return ::write(own_, text.data(), text.size());
  return ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

}  // namespace znni
