#include "server/rest/json_walk.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace znni::rest {
namespace {

Error broken(const std::string& what, std::size_t position) {
  return {ErrorCode::invalid_argument, what + " at byte " + std::to_string(position) + " of the JSON"};
}

// Tells how far the parser has taken the text. The text ends early if a value gets too long: the parser keeps all bytes
// of a value, twice.
struct Reading {
  std::string_view text;
  std::size_t at = 0;
  std::size_t event = 0;  // where the last event was

  [[nodiscard]] bool is_too_long() const { return at - event >= max_value_bytes; }
  [[nodiscard]] bool has_more() const { return at < text.size() && !is_too_long(); }
};

// Iterates over the text for the parser, which compares it with the end alone: that is the one without a Reading.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor() = default;
  explicit Cursor(Reading& reading) : reading_(&reading) {}

  reference operator*() const { return reading_->text[reading_->at]; }
  Cursor& operator++() {
    ++reading_->at;
    return *this;
  }
  bool operator==(const Cursor& end) const { return end.reading_ == nullptr && !reading_->has_more(); }
  bool operator!=(const Cursor& end) const { return !(*this == end); }

 private:
  Reading* reading_ = nullptr;
};

// Turns the library's events into ours.
class Sax {
 public:
  Sax(Reading& reading, JsonEvents& events) : reading_(reading), events_(events) {}

  bool null() { return note(events_.value(nullptr)); }
  bool boolean(bool value) { return note(events_.value(value)); }
  bool number_integer(std::int64_t value) { return note(events_.value(value)); }
  bool number_unsigned(std::uint64_t value) { return note(events_.value(value)); }
  bool number_float(double value, const std::string& /*text*/) { return note(events_.value(value)); }
  bool string(const std::string& value) { return note(events_.value(std::string_view(value))); }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return false; }
  bool key(const std::string& name) { return note(events_.key(name)); }
  bool start_object(std::size_t /*size*/) { return open(JsonKind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return open(JsonKind::array); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*why*/) {
    const bool too_long = reading_.is_too_long();
    error_ = too_long ? broken("a value of more than " + std::to_string(max_value_bytes) + " bytes", reading_.event)
                      : broken("a syntax error, or a number beyond all bounds,", position);
    return false;
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  bool open(JsonKind kind) {
    if (++depth_ > max_json_depth) {
      error_ = broken("arrays and objects nested deeper than " + std::to_string(max_json_depth), reading_.at);
      return false;
    }
    return note(events_.open(kind, reading_.at));
  }
  bool close() {
    --depth_;
    return note(events_.close(reading_.at));
  }
  bool note(const Result<void>& told) {
    reading_.event = reading_.at;
    if (!told) error_ = told.error();
    return told.has_value();
  }

  Reading& reading_;
  JsonEvents& events_;
  int depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<void> walk_json(std::string_view text, JsonEvents& events) {
  Reading reading{text};
  Sax sax(reading, events);
  if (nlohmann::json::sax_parse(Cursor(reading), Cursor(), &sax)) return {};
  return sax.error().value_or(broken("a syntax error", reading.at));
}

}  // namespace znni::rest
