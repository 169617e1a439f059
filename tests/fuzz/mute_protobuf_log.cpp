// Protobuf has a line for every message that is none: millions an hour here.
#include <google/protobuf/stubs/logging.h>

namespace {

[[maybe_unused]] const google::protobuf::LogSilencer silence;

}  // namespace
