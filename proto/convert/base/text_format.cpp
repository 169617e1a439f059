#include "proto/convert/base/text_format.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/text_scan.hpp"

namespace znni {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

std::string at_line(int line, const std::string& message) { return "line " + std::to_string(line) + ": " + message; }

// Returns T and f of the parser's message `Message type "T" has no field named "f".`, nullopt for any other message.
std::optional<UnknownField> as_unknown_field(int line, const std::string& message) {
  std::vector<std::string> quoted;
  for (std::size_t from = message.find('"'); from != std::string::npos;) {
    const std::size_t to = message.find('"', from + 1);
    if (to == std::string::npos) break;
    quoted.push_back(message.substr(from + 1, to - from - 1));
    from = message.find('"', to + 1);
  }
  if (quoted.size() != 2 || message.find("has no field named") == std::string::npos) return std::nullopt;
  return UnknownField{line, quoted[0], quoted[1], -1};
}

// Replaces "list [" by "list: [". Both are protobuf's text form, but the parser cannot skip an unknown field in the
// first form, which is common in Triton's files.
std::string with_colons_before_lists(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 64);
  TextScan scan;
  char before = ':';  // last character that is not in space, quotes or comments
  for (const char c : text) {
    const bool outside = scan.take(c);
    const bool ends_a_name = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_';
    if (outside && c == '[' && ends_a_name) result += ':';
    result += c;
    if (outside && std::isspace(static_cast<unsigned char>(c)) == 0) before = c;
  }
  return result;
}

// Returns which element of the message's own fields is read: the last one so far.
int element_of(const Message& message, const std::string& type) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = descriptor.field(i);
    const bool holds = field->is_repeated() && field->message_type() != nullptr;
    if (!holds || field->message_type()->full_name() != type) continue;
    return message.GetReflection()->FieldSize(message, field) - 1;
  }
  return -1;
}

// Collects what is wrong with a text while `message` is filled.
class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(const Message& message) : message_(message) {}

  void AddError(int line, google::protobuf::io::ColumnNumber, const std::string& message) override {
    if (!error_) error_ = at_line(line + 1, message);
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber, const std::string& message) override {
    std::optional<UnknownField> field = as_unknown_field(line + 1, message);
    if (!field) return;
    field->element = element_of(message_, field->message);
    unknown_.push_back(*std::move(field));
  }

  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  [[nodiscard]] const std::vector<UnknownField>& unknown() const { return unknown_; }

 private:
  const Message& message_;
  std::optional<std::string> error_;
  std::vector<UnknownField> unknown_;
};

std::string field_names(const Message& message, const std::string& type) {
  const Descriptor* descriptor = message.GetDescriptor()->file()->pool()->FindMessageTypeByName(type);
  if (descriptor == nullptr) return "";
  std::string names = "; it has: ";
  for (int i = 0; i < descriptor->field_count(); ++i) {
    names += (i == 0 ? "" : ", ") + descriptor->field(i)->name();
  }
  return names;
}

}  // namespace

Result<std::vector<UnknownField>> parse_text_skipping(std::string_view text, Message& message,
                                                      const std::function<bool(const UnknownField&)>& may_skip) {
  constexpr int max_nested = 32;
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max() / 2)) return corrupt("over 1 GiB of text");
  Collector collector(message);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(max_nested);
  const std::string lists = with_colons_before_lists(text);
  google::protobuf::io::ArrayInputStream stream(lists.data(), static_cast<int>(lists.size()));
  const bool parsed = parser.Parse(&stream, &message);
  for (const UnknownField& unknown : collector.unknown()) {
    if (may_skip(unknown)) continue;
    return corrupt(at_line(unknown.line, unknown.message + " has no field '" + unknown.field + "'") +
                   field_names(message, unknown.message));
  }
  if (!parsed) return corrupt(collector.error().value_or("not in protobuf's text form"));
  return collector.unknown();
}

Result<void> parse_text(std::string_view text, Message& message) {
  const auto none = [](const UnknownField&) { return false; };
  if (const auto parsed = parse_text_skipping(text, message, none); !parsed) return parsed.error();
  return {};
}

std::string print_text(const Message& message) {
  TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace znni
