// The hub's register of series: who writes which, who reads, who must still come. Pure; a part of HubState.
// Invariants: a name has one record, its newest; writers and readers are peers that live, since peer_gone takes them out.
// Tests: tests/unit/universe/test_series_book.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "universe/registry.hpp"

namespace couplet::universe {

inline constexpr std::size_t most_series = 4096;

class SeriesBook {
 public:
  struct Change {
    std::string name;
    std::vector<channel::PeerId> readers;  // who has it open
  };

  // Takes the record in with its incarnation. exists: a live peer still writes this name; limit: too many series.
  Result<SeriesRecord> announce(const SeriesRecord& record);
  // nullptr where there is none with an incarnation above newer_than.
  [[nodiscard]] const SeriesRecord* find(const std::string& name, std::int64_t newer_than) const;

  // not_found: no such series, or the peer does not write it. The answers name the series whose `closed` has changed.
  Result<std::vector<Change>> writer_closed(channel::PeerId peer, const std::string& name, std::uint64_t now_ns);
  Status reader_opened(channel::PeerId peer, const std::string& program, const std::string& name);
  Status reader_closed(channel::PeerId peer, const std::string& name);
  // The peer has left or is lost: it writes and reads no more.
  std::vector<Change> peer_gone(channel::PeerId peer, std::uint64_t now_ns);
  // No rank of this program is there any more: as a required reader it has closed or died.
  void program_gone(const std::string& program);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  // Every writer has ended, and every required reader has closed or died.
  [[nodiscard]] bool finished() const;
  // The last writer's end plus linger; 0 where nothing lingers.
  [[nodiscard]] std::uint64_t lingers_until_ns() const;
  [[nodiscard]] std::vector<channel::PeerId> readers_of(const std::string& name) const;
  [[nodiscard]] bool reads(channel::PeerId peer) const;
  [[nodiscard]] std::vector<const SeriesRecord*> read_by(channel::PeerId peer) const;
  // "program 'follower' (series 'eta')": required readers that have not come.
  [[nodiscard]] std::vector<std::string> awaited() const;

 private:
  struct Reader {
    channel::PeerId peer;
    std::string program;
    int opened = 0;
  };
  struct Entry {
    SeriesRecord record;
    std::set<channel::PeerId> writers;  // still writing
    std::map<channel::PeerId, Reader> readers;
    std::map<std::string, bool> required;  // program -> has come (or never will)
    std::uint64_t ended_ns = 0;
  };
  static void end(Entry& entry, std::uint64_t now_ns);
  static std::vector<channel::PeerId> readers_of(const Entry& entry);

  std::map<std::string, Entry> entries_;
};

}  // namespace couplet::universe
