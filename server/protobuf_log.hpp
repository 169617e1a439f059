// What the protobuf library says goes into the daemon's log: of a message that cannot be parsed no call begins, so that
// its line is the only trace.
#pragma once

#include "server/log.hpp"

namespace znni {

// From construction to destruction, of all threads. One at a time, made and destroyed while nobody parses; `log` must
// outlive it.
class ProtobufLog {
 public:
  explicit ProtobufLog(const Log& log);
  ~ProtobufLog();
  ProtobufLog(const ProtobufLog&) = delete;
  ProtobufLog& operator=(const ProtobufLog&) = delete;
};

}  // namespace znni
