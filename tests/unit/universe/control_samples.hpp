// A message of each kind between a member and the hub, and a description of a series.
#pragma once

#include <string_view>
#include <vector>

#include "universe/control.hpp"
#include "universe/series_record.hpp"

namespace couplet::universe::samples {

inline Contact contact_with(std::string_view transport, std::string_view bytes) {
  Contact made{.process = 0x55667788, .transports = {}};
  made.transports.add(transport, link::Contact(std::as_bytes(std::span(bytes))));
  return made;
}

inline const Contact contact = contact_with("tcp", "abcdef");
inline const std::vector<ProgramInfo> programs = {{"ocean", 2, 0, true}, {"late", 1, 2, false}};
inline const std::vector<PeerRun> runs = {{3, 2, PeerState::lost, 1, 0}, {7, 1, PeerState::present, 2, unknown_node}};

inline OpenerRanks some_ranks() {
  OpenerRanks ranks(3);
  ranks.runs = {{3, 2}, {7, 1}};
  return ranks;
}

inline std::vector<MemberMessage> member_messages() {
  RejoinMessage rejoin;
  rejoin.run_id = 9;
  rejoin.epoch = 2;
  rejoin.released = true;
  rejoin.peer = 1;
  rejoin.node_key = "key";
  rejoin.host = "n03";
  rejoin.contact = contact;
  rejoin.programs = programs;
  rejoin.exceptions = runs;
  rejoin.series = {{"eta", 4, true, 2, some_ranks(), true}, {"old", 2, false, 0, not_opened, true, true, 6}};
  rejoin.pending = {{"next", 7}};
  rejoin.withdrawn = {8, 9};
  return {JoinMessage{false, "ocean", 1, 2, 60, "n03"},
          NodeMessage{"key", 3},
          PresentMessage{contact},
          LeaveMessage{},
          AnnounceMessage{7, {10, 2, "abc"}},
          FindMessage{8, "eta", -1, true},
          FetchMessage{8, "eta", 1, 262144},
          NoteMessage{9, SeriesNote::reader_opened, "eta", some_ranks(), 5},
          RelayOfMessage{10, 3, false},
          CancelMessage{11},
          ContactsOfMessage{256, 256},
          rejoin,
          RecordMessage{"eta", 4, {3, 0, "abc"}},
          SeenMessage{runs, {{1, 0, contact}}},
          CallMeBackMessage{3, 2, contact_with("a new transport", "x")},
          CatchUpMessage{12}};
}

inline std::vector<HubMessage> hub_messages() {
  AnswerMessage answer{8, Code::ok, "", 0, FoundSeries{1, true, {3, 0, "abc"}}};
  return {AdmittedMessage{0x1234, 1, {{"encrypt", "false"}}},
          PlacedMessage{1, 0, 0, channel::Signature{7, 8, 9}, programs},
          NodesMessage{0, {"n03", "n04"}},
          StatesMessage{{{"it was killed", runs}, {"", {}}}},
          ContactsMessage{{{1, 0, contact}}},
          CompleteMessage{},
          WaitingMessage{"waiting for program 'nowcast'"},
          RefusedMessage{Code::exists, "twice"},
          answer,
          SeriesMessage{"eta", "ocean", 1, false},
          GoodbyeMessage{},
          OverMessage{"every program has ended"},
          RejoinedMessage{3},
          RecallMessage{"eta", 4},
          LookMessage{runs, runs},
          CallBackMessage{3, 1}};
}

inline SeriesRecord sample_record() {
  SeriesRecord record;
  record.name = "eta";
  record.program = "ocean";
  record.fields = {{"", COUPLET_DOUBLE, {10, 20}}, {"mask", COUPLET_BYTE, {10}}};
  record.slots = 4;
  record.linger_s = 1.5;
  record.creation = 6;
  record.required_readers = {"nowcast"};
  record.parts.resize(2);
  record.parts[0] = {0, 0, 3, {{{2, {0, 0}, {5, 20}}}, {}}, "series-eta-0"};
  record.parts[1] = {1, 2, 3, {{{2, {5, 0}, {10, 20}}}, {{1, {0}, {10}}}}, "series-eta-1"};
  return record;
}

}  // namespace couplet::universe::samples
