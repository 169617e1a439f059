// Takes the protobuf library's messages into the daemon's log. A message that cannot be parsed begins no call, so the
// library's line is its only trace.
#pragma once

#include "server/log.hpp"

namespace znni {

// Takes messages of all threads from construction to destruction. Only one may exist at a time, and no thread may parse
// while it is made or destroyed; `log` must outlive it.
class ProtobufLog {
 public:
  explicit ProtobufLog(const Log& log);
  ~ProtobufLog();
  ProtobufLog(const ProtobufLog&) = delete;
  ProtobufLog& operator=(const ProtobufLog&) = delete;
};

}  // namespace znni
