// The reasons why a network does not run here, in the words of its author.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace znni {

// One kind of them. All texts are single lines.
struct Blocker {
  std::string what;    // the module, as the network's author calls it: "GroupNorm"
  std::string reason;  // why the first of them is refused
  std::string advice;  // what the author can do; "" where nothing general is known
  std::string first;   // name of the first node; "" where the network as a whole is refused
  std::int64_t count = 0;
  bool operator==(const Blocker&) const = default;
};

struct Blockers {
  std::vector<Blocker> kinds;  // in the order of their first nodes
  std::int64_t count = 0;      // of all kinds
  std::int64_t unlisted = 0;   // part of `count` that is of further kinds, which are not listed
  bool is_whole = true;        // false: the rest of the file was not looked at
  bool operator==(const Blockers&) const = default;
};

}  // namespace znni
