// Messages between members and the hub: whatever is decoded can be encoded again, and means the same. Also descriptions
// of series, the process page, lists of programs and settings: everything of universe/ that takes bytes from outside.
#include "universe/control.hpp"

#include <cstdint>
#include <string_view>

#include "fuzzing.hpp"
#include "universe/programs.hpp"
#include "universe/series_record.hpp"
#include "wire/page.hpp"

using namespace couplet;
using namespace couplet::universe;

using fuzzing::demand;

namespace {

void take_messages(std::string_view text) {
  if (const auto message = decode_member_message(text); message.ok()) {
    const auto said = encode(*message);
    const auto again = decode_member_message(said);
    demand(again.ok() && encode(*again) == said);
  }
  if (const auto message = decode_hub_message(text); message.ok()) {
    const auto said = encode(*message);
    const auto again = decode_hub_message(said);
    demand(again.ok() && encode(*again) == said);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  take_messages(text);
  const auto raw = std::as_bytes(std::span(data, bytes));
  if (const auto record = decode_record(text); record.ok()) {
    demand(encode_record(*record) == text);
  }
  if (const auto page = wire::decode_page_header(raw); page.ok()) {
    demand(page->knocks_offset + 8ULL * page->knock_words <= bytes);
  }
  if (const auto programs = parse_programs(text); programs.ok()) {
    demand(check_programs(*programs).ok());
  }
  static_cast<void>(settings_from_json(text).ok());
  return 0;
}
