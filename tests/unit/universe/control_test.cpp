// Control messages as bytes: every kind there and back, golden bytes, and what no message may be.
#include "universe/control.hpp"

#include <gtest/gtest.h>

#include <set>

#include "control_samples.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe {
namespace {

using namespace samples;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

// Each prefix of a message is an error that names the message, and the whole means the same again.
template <typename Message>
void check_all(const std::vector<Message>& messages, const auto& decode) {
  std::set<char> kinds;
  for (const auto& message : messages) {
    const auto bytes = encode(message);
    EXPECT_TRUE(kinds.insert(bytes.front()).second) << "two messages of one kind";
    const auto again = decode(bytes);
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_EQ(again->index(), message.index());
    EXPECT_EQ(hex(encode(*again)), hex(bytes));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_EQ(decode(bytes.substr(0, length)).code(), Code::protocol) << hex(bytes) << " cut to " << length;
    }
    EXPECT_EQ(decode(bytes + "x").code(), Code::protocol) << hex(bytes);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

TEST(Control, EveryMessageOfAMemberMeansTheSameAgain) {
  check_all(member_messages(), [](const std::string& bytes) { return decode_member_message(bytes); });
}

TEST(Control, EveryMessageOfTheHubMeansTheSameAgain) {
  check_all(hub_messages(), [](const std::string& bytes) { return decode_hub_message(bytes); });
}

TEST(Control, GoldenBytes) {
  EXPECT_EQ(hex(encode(MemberMessage(JoinMessage{false, "ocean", 1, 2, 60, "n03"}))),
            "01"
            "00"
            "05006f6365616e"
            "01000000"
            "02000000"
            "0000000000004e40"
            "03006e3033");
  EXPECT_EQ(hex(encode(MemberMessage(PresentMessage{contact}))),
            "03"
            "88776655"
            "0b"
            "03746370"
            "06616263646566");
  EXPECT_EQ(hex(encode(MemberMessage(AnnounceMessage{7, {10, 2, "abc"}}))),
            "05"
            "0700000000000000"
            "0a00000000000000"
            "0200000000000000"
            "03000000616263");
  EXPECT_EQ(hex(encode(HubMessage(StatesMessage{{{"why", {runs.front()}}}}))),
            "44"
            "01000000"
            "0300776879"
            "01000000"
            "03000000"
            "02000000"
            "03"
            "0100"
            "0000");
  EXPECT_EQ(hex(encode(HubMessage(RefusedMessage{Code::exists, "twice"}))).substr(0, 2), "48");
}

TEST(Control, AMistakeNamesTheMessageAndTheField) {
  auto bytes = encode(MemberMessage(RelayOfMessage{10, 3, false}));
  bytes.back() = '\x02';
  EXPECT_EQ(decode_member_message(bytes).status().text(), "message 'relay_of': field 'wait' is 2, expected 0 to 1");
  EXPECT_EQ(decode_member_message("\x48").status().code(), Code::protocol)
      << "the hub's 'refused' is no member's message";
  EXPECT_EQ(decode_hub_message(encode(MemberMessage(LeaveMessage{}))).code(), Code::protocol);
  EXPECT_EQ(decode_member_message(std::string(max_message_bytes + 1, '\x01')).code(), Code::limit);
}

// A count of 2^32 - 1 elements in a message of ten bytes is a mistake before anything is allocated.
TEST(Control, ACountThatCannotBeIsRefusedBeforeAnythingIsAllocated) {
  for (const char kind : {'\x0e', '\x0c'}) {
    EXPECT_EQ(decode_member_message(std::string(1, kind) + std::string(9, '\xff')).code(), Code::protocol);
  }
  for (const char kind : {'\x43', '\x44', '\x45', '\x4f'}) {
    EXPECT_EQ(decode_hub_message(std::string(1, kind) + std::string(9, '\xff')).code(), Code::protocol);
  }
  EXPECT_EQ(decode_record(std::string("\x01\x00", 2) + std::string(40, '\xff')).code(), Code::protocol);
}

TEST(Control, ATextThatIsTooLongIsCutByTheHubAndNeverUndecodable) {
  const std::string long_text(10'000, 'x');
  const auto waiting = decode_hub_message(encode(HubMessage(WaitingMessage{long_text})));
  ASSERT_TRUE(waiting.ok()) << waiting.status().text();
  EXPECT_EQ(std::get<WaitingMessage>(*waiting).text.size(), max_text_bytes);
  EXPECT_TRUE(decode_hub_message(encode(HubMessage(RefusedMessage{Code::exists, long_text}))).ok());
  EXPECT_TRUE(decode_hub_message(encode(HubMessage(OverMessage{long_text}))).ok());
  EXPECT_TRUE(decode_hub_message(encode(HubMessage(StatesMessage{{{long_text, runs}}}))).ok());
}

TEST(SeriesDescription, MeansTheSameAgain) {
  SeriesRecord record = sample_record();
  const auto bytes = encode_record(record);
  const auto again = decode_record(bytes);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(encode_record(*again), bytes);
  EXPECT_EQ(again->parts[1].boxes, record.parts[1].boxes);
  EXPECT_EQ(again->required_readers, record.required_readers);
  EXPECT_EQ(again->creation, record.creation);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_record(bytes.substr(0, length)).ok()) << length;
  }
  record.parts[0].file = "../elsewhere";
  EXPECT_EQ(decode_record(encode_record(record)).code(), Code::protocol);
}

}  // namespace
}  // namespace couplet::universe
