#include "server/escape.hpp"

#include <cstdint>

namespace znni {
namespace {

// Returns the bytes of the well-formed UTF-8 character at the start of `text` (not empty); 0 if there is none (Unicode
// 15, table 3-7).
std::size_t character_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

void append_ascii(char c, std::string& out) {
  static constexpr std::string_view digits = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (c >= ' ' && c != 0x7F) {
    out += c;
    return;
  }
  out += "\\u00";
  out += digits[static_cast<std::uint8_t>(c) >> 4U];
  out += digits[static_cast<std::uint8_t>(c) & 0xFU];
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 1) {
      append_ascii(text.front(), out);
    } else {
      out += bytes == 0 ? "\\ufffd" : text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  out += '"';
  return out;
}

}  // namespace znni
