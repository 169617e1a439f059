#include "planner/base/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>

namespace znni {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int poll_milliseconds = 100;

Error failure(const char* call) {
  return {ErrorCode::device_failure, std::string(call) + " failed: " + std::strerror(errno)};
}

// Returns the private writable bytes that this process has mapped; 0 if the system does not tell.
std::int64_t data_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmData:" && status >> kibibytes) return mul(kibibytes, 1024);
  }
  return 0;
}

void limit_child(std::int64_t memory, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const auto most = static_cast<rlim_t>(add(data_bytes(), memory));
  const rlimit limit{most, most};
  setrlimit(RLIMIT_DATA, &limit);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// Writes a whole message. If that fails, the parent has ended.
void write_message(int pipe, const ChildMessage& message) {
  const auto* bytes = reinterpret_cast<const char*>(&message);
  std::size_t done = 0;
  while (done < sizeof(message)) {
    const ssize_t written = ::write(pipe, bytes + done, sizeof(message) - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    done += static_cast<std::size_t>(written);
  }
}

// Owns both ends of a pipe and closes them.
class Pipe {
 public:
  Pipe() { open_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] int end(std::size_t which) const { return ends_[which]; }
  void close_end(std::size_t which) {
    if (open_ && ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  bool open_ = false;
};

// Hears the child until it is silent for good. Nothing: it has closed the pipe itself.
class Listener {
 public:
  Listener(int pipe, const std::function<Seconds(const ChildMessage&)>& hear, const ChildLimits& limits)
      : pipe_(pipe), hear_(hear), limits_(limits) {}

  std::optional<ChildEnd> listen() {
    while (true) {
      pollfd ready{pipe_, POLLIN, 0};
      const int count = ::poll(&ready, 1, poll_milliseconds);
      if (count > 0 && !read_some()) return std::nullopt;
      if (limits_.stop && limits_.stop()) return ChildEnd{ChildEnd::stopped, "was stopped"};
      if (patience_ > 0 && Clock::now() - heard_ > std::chrono::duration<double>(patience_)) {
        return ChildEnd{ChildEnd::slow, "gave no answer within " + std::to_string(static_cast<int>(patience_)) + " s"};
      }
    }
  }

 private:
  bool read_some() {
    std::array<char, 64 * sizeof(ChildMessage)> bytes{};
    const ssize_t count = ::read(pipe_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    pending_.append(bytes.data(), static_cast<std::size_t>(count));
    for (; pending_.size() >= sizeof(ChildMessage); pending_.erase(0, sizeof(ChildMessage))) {
      ChildMessage message;
      std::memcpy(&message, pending_.data(), sizeof(message));
      patience_ = hear_(message);
      heard_ = Clock::now();
    }
    return true;
  }

  int pipe_;
  const std::function<Seconds(const ChildMessage&)>& hear_;
  const ChildLimits& limits_;
  std::string pending_;
  Seconds patience_ = 0;
  Clock::time_point heard_ = Clock::now();
};

// Waits for the child, which has ended or is ending.
ChildEnd reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return {ChildEnd::died, "was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")"};
  }
  return {ChildEnd::died, "ended with code " + std::to_string(WEXITSTATUS(status))};
}

}  // namespace

ChildMessage ChildMessage::make(int what, int which, double number, std::string_view text, double second) {
  ChildMessage message;
  message.what = what;
  message.which = which;
  message.number = number;
  message.second = second;
  std::copy_n(text.begin(), std::min(text.size(), message.words.size() - 1), message.words.begin());
  return message;
}

std::string ChildMessage::text() const { return words.data(); }

Result<ChildEnd> run_in_child(const std::function<void(const std::function<void(const ChildMessage&)>& tell)>& work,
                              const std::function<Seconds(const ChildMessage&)>& hear, const ChildLimits& limits) {
  Pipe pipe;
  if (!pipe.is_open()) return failure("pipe");
  const pid_t parent = getpid();
  const pid_t child = ::fork();
  if (child < 0) return failure("fork");
  if (child == 0) {
    limit_child(limits.memory, parent);
    work([&](const ChildMessage& message) { write_message(pipe.end(1), message); });
    _exit(0);
  }
  pipe.close_end(1);
  const std::optional<ChildEnd> cut = Listener(pipe.end(0), hear, limits).listen();
  if (cut) ::kill(child, SIGKILL);
  ChildEnd end = reap(child);
  return cut ? *cut : end;
}

}  // namespace znni
