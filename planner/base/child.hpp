// Runs a function in a child process with a cap on its memory: what goes wrong there goes wrong there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "primitives/core/primitive.hpp"

namespace znni {

// A message from a child to its parent, of one size so that it passes a pipe in one piece. The caller gives it meaning.
struct ChildMessage {
  std::int32_t what = 0;
  std::int32_t which = 0;
  double number = 0;
  double second = 0;
  std::array<char, 232> words = {};

  [[nodiscard]] static ChildMessage make(int what, int which, double number, std::string_view text = "",
                                         double second = 0);
  [[nodiscard]] std::string text() const;  // cut to what fits
};

struct ChildEnd {
  enum How { done, stopped, slow, died };
  How how = done;
  std::string why;  // of slow and died: "gave no answer within 5 s", "was ended by signal 6 (Aborted)"
};

struct ChildLimits {
  std::int64_t memory = 0;     // bytes it may allocate beyond what it starts with
  std::function<bool()> stop;  // polled about ten times a second; true ends the child
};

// Runs `work` in a copy of this process, which must have no other threads. `work` sends messages, and the copy ends
// when it returns. `hear` gets every message in this process and returns how many seconds may pass until the next one
// (0: any). The child ends with its parent, and it is the first to go when the machine's memory runs out. The error is
// that of fork or pipe.
[[nodiscard]] Result<ChildEnd> run_in_child(
    const std::function<void(const std::function<void(const ChildMessage&)>& tell)>& work,
    const std::function<Seconds(const ChildMessage&)>& hear, const ChildLimits& limits);

}  // namespace znni
