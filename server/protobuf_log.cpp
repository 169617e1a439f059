#include "server/protobuf_log.hpp"

#include <google/protobuf/stubs/logging.h>

#include <string>

namespace znni {
namespace {

const Log* current = nullptr;  // the library takes a function without a state
google::protobuf::LogHandler* before = nullptr;

// Logs protobuf's messages below the level of errors, because anything may come over the wire.
void pass_on(google::protobuf::LogLevel level, const char* /*file*/, int /*line*/, const std::string& message) {
  if (level == google::protobuf::LOGLEVEL_INFO) return current->info("protobuf", {{"says", message}});
  current->warning("protobuf", {{"says", message}});
}

}  // namespace

ProtobufLog::ProtobufLog(const Log& log) {
  current = &log;
  before = google::protobuf::SetLogHandler(&pass_on);
}

ProtobufLog::~ProtobufLog() { google::protobuf::SetLogHandler(before); }

}  // namespace znni
