#include "client/cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace znni::client {
namespace {

constexpr int max_bar_width = 30;
constexpr int min_bar_width = 5;
constexpr int usual_columns = 80;
constexpr std::chrono::milliseconds redraw{100};
constexpr std::chrono::seconds line_every{10};

// Returns the share of all work that is done, 0 to 1.
double share_of(const ProgressFacts& facts) {
  if (facts.patches <= 0) return facts.before;
  const double done = static_cast<double>(facts.patches_done) + std::max(facts.part, 0.0);
  return std::min(facts.before + facts.span * std::min(done / static_cast<double>(facts.patches), 1.0), 1.0);
}

// A unit in which a number of voxels has at most three digits before its point.
struct Unit {
  double voxels;
  const char* name;
};
Unit unit_of(double voxels) {
  for (const Unit& unit : {Unit{1e12, "T "}, Unit{1e9, "G "}, Unit{1e6, "M "}}) {
    if (voxels >= 0.9995 * unit.voxels) return unit;  // what rounds to 1000 of the unit below
  }
  return {1e3, "k "};
}

// Returns "1.24 M voxels/s", with three digits.
std::string rate_text(double rate) {
  const Unit unit = unit_of(rate);
  const double number = rate / unit.voxels;
  std::array<char, 60> text{};
  const int digits = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f %svoxels/s", digits, number, unit.name);
  return text.data();
}

// Returns "  1.23/4.10 M voxels  0.124 M voxels/s", or the patches if the voxels of the job are not known.
std::string counts_text(const ProgressFacts& facts, double share) {
  std::array<char, 120> text{};
  if (facts.voxels <= 0) {
    std::snprintf(text.data(), text.size(), "  %lld/%lld patches", static_cast<long long>(facts.patches_done),
                  static_cast<long long>(facts.patches));
    return text.data();
  }
  const double done = facts.voxels * share;
  const Unit unit = unit_of(facts.voxels);
  const double rate = facts.seconds > 0 ? done / facts.seconds : 0;
  std::snprintf(text.data(), text.size(), "  %.2f/%.2f %svoxels  ", done / unit.voxels, facts.voxels / unit.voxels,
                unit.name);
  return text.data() + rate_text(rate);
}

std::string bar_text(double share, int width) {
  const int filled = std::clamp(static_cast<int>(share * width), 0, width);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < width) bar += '>';
  bar.resize(static_cast<std::size_t>(width), ' ');
  return "[" + bar + "]";
}

// Returns the columns of the terminal on stderr, also after its window has changed.
int terminal_columns() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : usual_columns;
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::max(seconds, 0.0) + 0.5);
  std::array<char, 40> text{};
  if (whole >= 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
  }
  return text.data();
}

std::string progress_line(const ProgressFacts& facts, int columns) {
  const double share = share_of(facts);
  std::string text;
  if (facts.parts > 1) text += "  part " + std::to_string(facts.number) + "/" + std::to_string(facts.parts);
  text += counts_text(facts, share);
  if (share > 0) text += "  " + duration_text(facts.seconds / share - facts.seconds) + " left";
  const int room = columns - 3 - static_cast<int>(text.size());  // beside the brackets and a free last column
  return (bar_text(share, std::clamp(room, min_bar_width, max_bar_width)) + text)
      .substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
}

ProgressStyle style_for_stderr() { return isatty(STDERR_FILENO) != 0 ? ProgressStyle::bar : ProgressStyle::lines; }

Progress::Progress(ProgressStyle style, double voxels)
    : style_(style), voxels_(voxels), start_(Clock::now()), last_(start_) {}

void Progress::begin_part(std::int64_t number, std::int64_t parts, double voxels) {
  facts_.before += under_way_;
  facts_.span = under_way_ = voxels / std::max(voxels_, 1.0);
  facts_.number = number;
  facts_.parts = parts;
}

void Progress::show(std::int64_t patches_done, std::int64_t patches, double part) {
  waits_ = false;
  const Clock::time_point now = Clock::now();
  const bool due =
      now - last_ >= (style_ == ProgressStyle::bar ? Clock::duration(redraw) : Clock::duration(line_every));
  if (style_ == ProgressStyle::none || (!due && patches_done < patches)) return;
  last_ = now;
  facts_.patches_done = patches_done;
  facts_.patches = patches;
  facts_.part = part;
  facts_.seconds = std::chrono::duration<double>(now - start_).count();
  facts_.voxels = voxels_;
  draw(progress_line(facts_, style_ == ProgressStyle::bar ? terminal_columns() : usual_columns));
}

void Progress::wait(const std::string& text) {
  const bool is_news = !std::exchange(waits_, true);
  if (style_ == ProgressStyle::bar) return draw(text.substr(0, static_cast<std::size_t>(terminal_columns() - 1)));
  if (is_news) draw(style_ == ProgressStyle::none ? "znni: " + text : text);
}

void Progress::draw(const std::string& line) {
  std::fprintf(stderr, style_ == ProgressStyle::bar ? "\r%s\x1b[K" : "%s\n", line.c_str());
  drawn_ = style_ == ProgressStyle::bar;
}

void Progress::end() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

}  // namespace znni::client
