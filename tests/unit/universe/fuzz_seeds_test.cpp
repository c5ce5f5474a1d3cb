// The seeds of the fuzzers `control` and `hub_state` are what members and hubs of this version say.
#include "support/fuzz_seeds.hpp"

#include <gtest/gtest.h>

#include "control_samples.hpp"

namespace couplet::universe {
namespace {

using namespace samples;
using test::check_seeds;
using test::Seeds;

TEST(FuzzSeeds, OfControlAreOneOfEachKind) {
  Seeds seeds = {{"description", encode_record(sample_record())}};
  const auto add = [&](const std::string& side, const auto& messages) {
    for (const auto& message : messages) {
      const std::string bytes = encode(message);
      seeds[fmt::format("{}-{}", side, static_cast<int>(bytes.front()))] = bytes;
    }
  };
  add("member", member_messages());
  add("hub", hub_messages());
  check_seeds("control", seeds, {"page", "programs", "settings"});  // those are made elsewhere
}

// What several connections send, in the form that the fuzzer reads (tests/fuzz/hub_state.cpp).
class Script {
 public:
  explicit Script(bool restarted) : bytes_(1, static_cast<char>(restarted ? 1 : 0)) {}
  Script& say(int connection, const MemberMessage& message) {
    const std::string text = encode(message);
    EXPECT_LT(text.size(), 256U);
    bytes_ += static_cast<char>(connection);
    bytes_ += static_cast<char>(text.size());
    bytes_ += text;
    return *this;
  }
  Script& join(int connection, const std::string& program, std::int32_t rank, std::int32_t size) {
    const bool is_relay = program.empty();
    say(connection, JoinMessage{is_relay, program, rank, size, 5, "h"});
    say(connection, NodeMessage{"a", unknown_node});
    return say(connection, PresentMessage{contact});
  }
  Script& join_all() { return join(1, "ocean", 0, 2).join(2, "ocean", 1, 2).join(3, "nowcast", 0, 1); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

SeriesRecord record() {
  SeriesRecord record = sample_record();
  record.fields.resize(1);
  record.parts.resize(1);
  record.parts.front().boxes.resize(1);
  return record;
}

Script& announce(Script& script) {
  const std::string description = encode_record(record());
  return script.say(1, AnnounceMessage{1, {description.size(), 0, description}});
}

MemberMessage rejoin(channel::PeerId peer, bool writes) {
  RejoinMessage message;
  message.run_id = 1;
  message.released = true;
  message.peer = peer;
  message.node_key = "a";
  message.host = "h";
  message.contact = contact;
  message.programs = {{"ocean", 2, 0, true}, {"nowcast", 1, 2, true}, {"follower", 1, 3, false}};
  message.series = {{"eta", 4, writes, 0, OpenerRanks(not_opened), writes}};
  return message;
}

TEST(FuzzSeeds, OfTheHubAreRunsOfAUniverse) {
  Script start(false);
  start.join_all();
  Script series(false);
  series.join_all().say(3, FindMessage{1, "eta", -1, true});
  announce(series).say(3, NoteMessage{2, SeriesNote::reader_opened, "eta", OpenerRanks(1), record().creation});
  series.say(3, FetchMessage{3, "eta", 0, 10})
      .say(1, NoteMessage{2, SeriesNote::writer_closed, "eta", {}, record().creation});
  series.say(3, NoteMessage{4, SeriesNote::reader_closed, "eta", {}, 0});
  series.say(1, LeaveMessage{}).say(2, LeaveMessage{}).say(3, LeaveMessage{});
  Script withdrawn(false);
  withdrawn.join_all().say(1, NoteMessage{9, SeriesNote::withdrawn, "eta", {}, record().creation});
  announce(withdrawn).say(1, NoteMessage{9, SeriesNote::withdrawn, "eta", {}, record().creation});
  withdrawn.say(1, CancelMessage{1}).say(3, FindMessage{1, "eta", -1, false});
  Script relay(false);
  relay.join_all().say(3, RelayOfMessage{5, 0, true}).join(4, "", 0, 1).say(3, CallMeBackMessage{4, 1, contact});
  relay.say(3, ContactsOfMessage{0, 8}).say(3, CatchUpMessage{6}).say(3, LeaveMessage{});
  Script restart(true);
  const std::string description = encode_record(record());
  restart.say(1, rejoin(0, true)).say(1, RecordMessage{"eta", 4, {description.size(), 0, description}});
  restart.say(2, rejoin(2, false)).say(2, FindMessage{1, "eta", -1, true}).say(2, SeenMessage{runs, {}});
  restart.join(3, "ocean", 1, 2).say(1, LeaveMessage{});
  check_seeds("hub_state", {{"start", start.bytes()},
                            {"series", series.bytes()},
                            {"withdrawn", withdrawn.bytes()},
                            {"relay", relay.bytes()},
                            {"restart", restart.bytes()}});
}

}  // namespace
}  // namespace couplet::universe
