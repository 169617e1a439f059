#include "planner/base/progress.hpp"

#include <algorithm>

namespace znni {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t terminal_columns = 100;

}  // namespace

Progress::Progress(std::ostream& out, bool terminal, Clock clock)
    : out_(out), terminal_(terminal), clock_(std::move(clock)), start_(clock_()) {
  next_ = start_ + (terminal_ ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(30000));
}

Progress::~Progress() { wipe(); }

void Progress::wipe() {
  if (terminal_ && !shown_.empty()) out_ << '\r' << std::string(shown_.size(), ' ') << '\r' << std::flush;
  shown_.clear();
}

void Progress::tell(std::string what) {
  what_ = std::move(what);
  tick();
}

void Progress::tick() {
  const auto now = clock_();
  if (now < next_) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
  std::string line = std::to_string(seconds) + " s: " + what_;
  if (!terminal_) {
    out_ << line << std::endl;
    next_ = now + 30s;
    return;
  }
  line.resize(std::min(line.size(), terminal_columns));
  const std::string rest(shown_.size() > line.size() ? shown_.size() - line.size() : 0, ' ');
  out_ << '\r' << line << rest << std::flush;
  shown_ = line;
  next_ = now + 200ms;
}

}  // namespace znni
