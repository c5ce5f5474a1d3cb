// Roster: a file in the hub's node directory that says which ranks are there, where they listen, and which series
// they write, for a hub that is started again (docs/formats/node-directory.md). Turns the hub's events into lines,
// and the lines of an earlier hub into EarlierMembers. Used by hub_server. Below: listener_calls, os. Invariants: a
// member is told nothing that the file does not say yet, if flush() comes before what is told and there is a file;
// one that could not be written is removed; series are left out of one that would be too long; a port is passed on
// only if the hub has reached its address before, since a refusal proves nothing where all calls are refused; the
// file has a bounded number of lines for each rank and series.
// Tests: tests/unit/universe/roster_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/descriptor.hpp"
#include "universe/control.hpp"
#include "universe/hub/earlier_members.hpp"
#include "universe/hub/hub_event.hpp"
#include "universe/hub/listener_calls.hpp"

namespace couplet::universe {

// So many lines that no longer count may be in the file beside two for each rank, ticket and series. Then it is written
// anew.
inline constexpr std::size_t max_stale_roster_lines = 4096;
// The same for bytes beside those of the file when it was last written anew: lines of series may be long.
inline constexpr std::size_t max_stale_roster_bytes = std::size_t{1} << 20U;

class Roster {
 public:
  // Opens the file in this directory. continues: an earlier hub of the run may have written one, which is read.
  // Otherwise an old one is replaced.
  void open(const std::string& directory, bool continues);
  // Returns what the file in this directory says, without opening it for writing.
  static EarlierMembers read(const std::string& directory);
  // Returns the ranks that are present according to that file, also if the universe was not complete; nothing if there
  // is no such file.
  static std::optional<std::vector<PeerRun>> present(const std::string& directory);
  // Returns what the earlier hub knew. Without programs and ranks if it knew nothing, or if the universe was not
  // complete.
  [[nodiscard]] EarlierMembers earlier() const;
  void add(const HubEvent& event);
  // Writes what was added. Never blocks for long: it is a file in memory.
  void flush();
  // Finds out which addresses the hub reaches: calls one port of each. Writes the file as a whole if that was not
  // possible before. Never blocks for long.
  void tick();

 private:
  using Address = std::array<std::uint8_t, 16>;
  struct Call {
    os::Endpoint endpoint;
    unsigned rounds = 0;  // how often it has been looked for an answer
  };

  void take_file(const std::string& text);
  void prove();
  bool take_line(std::string_view line);
  bool take_rank(std::string_view words);
  bool take_ticket(std::string_view words);
  bool take_series(std::string_view words);
  bool take_writer(std::string_view words);
  void note_writer(const std::string& name, channel::PeerId peer, const EarlierSeries& now);
  void set_rank(channel::PeerId peer, const EarlierMember& member);
  [[nodiscard]] std::size_t needed_lines() const noexcept {
    return members_.ranks.size() + members_.tickets.size() + members_.series.size();
  }
  void forget_call(channel::PeerId peer);
  void add_line(const std::string& line);
  void write_anew();
  void write(const std::string& text);
  void give_up();
  [[nodiscard]] std::string text() const;

  std::string directory_;
  std::string path_;
  os::Descriptor file_;
  std::string queue_;
  std::size_t lines_ = 0;
  std::size_t whole_bytes_ = 0;     // the size of the file when it was written as a whole
  std::size_t appended_bytes_ = 0;  // since then
  // There was no earlier hub, or its file was read, and the same holds for all hubs before that one.
  bool knows_tickets_ = true;
  bool is_known_ = false;  // take_file() was given a roster
  EarlierMembers members_;
  std::set<Address> reached_;
  std::map<channel::PeerId, Call> unproven_;  // one rank for each address that is being called
  std::set<Address> tried_;                   // addresses that have been called
  ListenerCalls calls_;
};

}  // namespace couplet::universe
